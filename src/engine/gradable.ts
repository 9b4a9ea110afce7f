import type { Plugins } from '../contract/ports.ts';
import { type Diagnostic, diagnostic } from '../contract/problem.ts';
import type { Profile } from '../contract/profile.ts';
import { gradedTurns, turnsOf } from '../core/session.ts';

const NAMED = 5; // case ids that a problem names

/** A case with its group, as far as its grading needs it. */
interface GradedCase {
  readonly id: string;
  readonly group: number;
  readonly input: unknown;
  readonly expected: unknown;
}

interface Found {
  readonly place: Partial<Diagnostic>;
  readonly ref: string;
  readonly reason: string;
  readonly cases: string[];
  count: number;
}

/** Looks at every planned case for evaluators that could grade no answer to it, and tells each reason once, with how many cases have it. */
export class Gradability {
  readonly #profile: Profile;
  readonly #checks: ReturnType<Plugins['ungradable']>;
  readonly #found = new Map<string, Found>();

  constructor(plugins: Plugins, profile: Profile) {
    this.#profile = profile;
    this.#checks = plugins.ungradable(profile);
  }

  look(item: GradedCase, place: Partial<Diagnostic>): void {
    for (const [index, check] of (this.#checks[item.group] ?? []).entries()) {
      const reason = this.#expected(item, index)
        .map(check)
        .find((problem) => problem !== null);
      if (reason !== undefined && reason !== null) this.#add(item, index, reason, place);
    }
  }

  /** Whether every case that was looked at can be graded. */
  get sound(): boolean {
    return this.#found.size === 0;
  }

  problems(): Diagnostic[] {
    return [...this.#found.values()].map(({ ref, reason, cases, count, place }) => {
      const more = count > cases.length ? `, … ${count - cases.length} more` : '';
      const which = `${count} case${count === 1 ? '' : 's'} (${cases.map((id) => `\`${id}\``).join(', ')}${more})`;
      const [what = reason, ...cure] = reason.split('; ');
      const hint = cure.length === 0 ? 'change `expected`, or the evaluator' : cure.join('; ');
      return diagnostic(`\`${ref}\` cannot grade ${which}: ${what}`, { ...place, field: 'expected', hint });
    });
  }

  /** What the evaluator compares answers with: of the case, or of each turn that it looks at. */
  #expected({ group, input, expected }: GradedCase, index: number): unknown[] {
    const { session, evaluators } = this.#profile.case_groups[group] ?? {};
    const which = evaluators?.[index]?.turns ?? 'whole';
    const turns = session && which !== 'whole' ? turnsOf(input, expected) : null;
    return turns === null || typeof turns === 'string'
      ? [expected]
      : gradedTurns(turns, which === 'last' ? 'last' : 'each').map((turn) => turn.expected);
  }

  #add({ id, group }: GradedCase, index: number, reason: string, place: Partial<Diagnostic>): void {
    const key = JSON.stringify([group, index, reason]);
    const known = this.#found.get(key);
    const found = known ?? {
      place,
      ref: this.#profile.case_groups[group]?.evaluators[index]?.ref ?? '',
      reason,
      cases: [],
      count: 0,
    };
    if (known === undefined) this.#found.set(key, found);
    found.count += 1;
    if (found.cases.length < NAMED) found.cases.push(id);
  }
}
