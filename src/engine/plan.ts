import type { ArtifactStore } from '../contract/artifact.ts';
import type { Case, DatasetReader } from '../contract/case.ts';
import type { FrozenGateway } from '../contract/gateway-profile.ts';
import type { Plugins } from '../contract/ports.ts';
import { type Diagnostic, diagnostic, ProctorError } from '../contract/problem.ts';
import type { Profile, Select } from '../contract/profile.ts';
import type { FrozenBaseline, PlannedCase, Snapshot } from '../contract/snapshot.ts';
import { groupOf } from '../core/group.ts';
import { CURRENT_METHOD } from '../core/method.ts';
import { turnsOf } from '../core/session.ts';
import { canonicalJson, digest } from '../lib/canonical-json.ts';
import { KeySet } from '../lib/key-set.ts';
import { Gradability } from './gradable.ts';
import { PlanWriter } from './plan-writer.ts';
import { SeededOrder } from './seeded-order.ts';

/** A planned run: everything frozen, the cases written as artifacts, nothing in the store yet. */
export interface Plan {
  readonly snapshot: Snapshot;
  readonly snapshot_digest: string;
  readonly snapshot_json: string;
  readonly plan_digest: string;
  readonly cases: number;
}

/** What is planned: the profile, its folder, the dataset and the selection. */
export interface PlanInput {
  readonly profile: Profile;
  readonly base_dir: string;
  /** Absolute path of the dataset, and as the user wrote it. */
  readonly dataset: {
    readonly path: string;
    readonly shown_path: string;
    readonly fields: Readonly<Record<string, string>>;
  };
  readonly select: Select;
  readonly signal: AbortSignal;
  /** The baseline that the gate names, frozen; null when it names none or none is blessed. */
  readonly baseline?: FrozenBaseline | null;
  /** The gateway of the profile, frozen; null when it has none. */
  readonly gateway?: FrozenGateway | null;
}

const MOST_PROBLEMS = 100;
const MOST_SHUFFLED = 100_000; // cases that are held in memory to be put into a random order

/**
 * Freezes a run: streams the dataset once, gives every selected case its group, refuses duplicates, cases that no group or
 * two groups take and malformed rows (every problem at once), and writes the cases as content-addressed chunks.
 */
export async function planRun(plugins: Plugins, artifacts: ArtifactStore, input: PlanInput): Promise<Plan> {
  const problems = new Problems();
  problems.add(...(await plugins.check(input.profile, input.base_dir)));
  const reader = await unlessUnreadable(problems, async () =>
    plugins.openDataset({ ...input.dataset, signal: input.signal }),
  );
  const written =
    reader && (await unlessUnreadable(problems, () => writeCases({ reader, artifacts, plugins }, input, problems)));
  problems.throwIfAny();
  if (!reader || !written) throw new Error('a plan without a dataset and without a problem');
  const { plan_digest, cases, group_cases } = written;
  if (cases === 0) throw new ProctorError('invalid_dataset', emptyMessage(input));
  return frozenPlan({
    profile: input.profile,
    dataset: { ...reader.identity(), cases, plan_digest },
    code: await plugins.code(input.profile, input.base_dir),
    group_cases,
    ...(input.baseline ? { baseline: input.baseline } : {}),
    ...(input.gateway ? { gateway: input.gateway } : {}),
  });
}

/** The plan of what is frozen: the snapshot with its digest. */
export function frozenPlan(
  frozen: Omit<Snapshot, 'format' | 'method' | 'evaluators'> & Required<Pick<Snapshot, 'group_cases'>>,
): Plan {
  const { profile, dataset } = frozen;
  const snapshot: Snapshot = {
    format: 'proctor/snapshot/1',
    method: CURRENT_METHOD,
    ...frozen,
    profile: { ...profile, dataset: null },
    evaluators: profile.case_groups.flatMap((group) =>
      group.evaluators.map((evaluator) => ({ ref: evaluator.ref, digest: null })),
    ),
  };
  return {
    snapshot,
    snapshot_digest: digest('proctor/snapshot/1', snapshot),
    snapshot_json: canonicalJson(snapshot),
    plan_digest: dataset.plan_digest,
    cases: dataset.cases,
  };
}

/** A dataset that cannot be opened or read on is one problem among the others, if there are others; null then. */
async function unlessUnreadable<T>(problems: Problems, work: () => Promise<T>): Promise<T | null> {
  try {
    return await work();
  } catch (error) {
    if (!ProctorError.is(error) || problems.count === 0) throw error;
    const told = error.diagnostics.length > 0 ? error.diagnostics : [diagnostic(error.message)];
    problems.add(...told.map((item) => ({ ...item, field: item.field ?? 'dataset.path' })));
    return null;
  }
}

async function writeCases(
  from: { readonly reader: DatasetReader; readonly artifacts: ArtifactStore; readonly plugins: Plugins },
  input: PlanInput,
  problems: Problems,
): Promise<{ plan_digest: string; cases: number; group_cases: number[] }> {
  const { reader, artifacts } = from;
  const { profile, select } = input;
  const gradability = new Gradability(from.plugins, profile);
  const seen = new KeySet();
  const wanted = select.cases.length > 0 ? new Set(select.cases) : null;
  const missing = new Set(wanted);
  let cases = 0;
  const group_cases = profile.case_groups.map(() => 0);
  const order = profile.early_stop === 'off' ? null : new SeededOrder(profile.seed, MOST_SHUFFLED);
  const writer = new PlanWriter(artifacts);
  for await (const item of reader.items) {
    input.signal.throwIfAborted();
    if (item.type === 'problem') {
      problems.add(item.problem);
      continue;
    }
    const { place } = item;
    missing.delete(item.case.id);
    const first = seen.add(item.case.id, place.line ?? 0);
    if (first !== null) {
      problems.add(
        diagnostic(`duplicate case id \`${item.case.id}\`${first > 0 ? `, first used in line ${first}` : ''}`, {
          ...place,
          field: 'id',
          hint: 'give every case its own id',
        }),
      );
      continue;
    }
    const group = groupOf(profile.case_groups, item.case);
    if (typeof group !== 'number') {
      problems.add({ ...group, ...place });
      continue;
    }
    const turns = profile.case_groups[group]?.session ? turnsOf(item.case.input, item.case.expected) : [];
    if (typeof turns === 'string') {
      problems.add(diagnostic(turns, { ...place, field: 'input' }));
      continue;
    }
    if (!selected(item.case, select, wanted) || (select.limit !== null && cases >= select.limit)) continue;
    cases += 1;
    group_cases[group] = (group_cases[group] ?? 0) + 1;
    gradability.look({ ...item.case, group }, place);
    if (problems.count > 0 || !gradability.sound) continue; // nothing will be created; only go on to find the rest of the problems
    const line = canonicalJson(plannedCase(item.case, group));
    if (order === null) await writer.put(line);
    else problems.add(...order.add(line, item.case.cluster, place));
  }
  problems.add(...gradability.problems());
  if (order !== null && problems.count === 0) for (const line of order.lines()) await writer.put(line);
  const plan_digest = problems.count === 0 ? await writer.end() : '';
  for (const id of missing) {
    problems.add(
      diagnostic(`case \`${id}\` was asked for but the dataset does not have it`, {
        file: input.dataset.shown_path,
        hint: 'check `--case` or `dataset.select.cases`',
      }),
    );
  }
  return { plan_digest, cases, group_cases };
}

function plannedCase(item: Case, group: number): PlannedCase {
  const { id, task_type, input, expected, context, tags, metadata, cluster } = item;
  return {
    case_content: digest('proctor/case/1', { context, expected, input, task_type }),
    cluster,
    context,
    expected,
    group,
    id,
    input,
    metadata,
    tags,
    task_type,
  };
}

function selected(item: Case, select: Select, wanted: ReadonlySet<string> | null): boolean {
  if (wanted !== null && !wanted.has(item.id)) return false;
  return select.tags_any.length === 0 || select.tags_any.some((tag) => item.tags.includes(tag));
}

function emptyMessage({ dataset, select }: PlanInput): string {
  const chosen = select.tags_any.length > 0 || select.cases.length > 0;
  return chosen
    ? `no case of \`${dataset.shown_path}\` is selected; check the tags and case ids`
    : `\`${dataset.shown_path}\` holds no cases`;
}

/** Problems in the order found, counted to the end and kept up to a bound. */
class Problems {
  readonly #kept: Diagnostic[] = [];
  count = 0;

  add(...problems: readonly Diagnostic[]): void {
    this.count += problems.length;
    this.#kept.push(...problems.slice(0, MOST_PROBLEMS - this.#kept.length));
  }

  throwIfAny(): void {
    if (this.count === 0) return;
    const more = this.count > this.#kept.length ? `, the first ${this.#kept.length} follow` : '';
    throw new ProctorError(
      'invalid_input',
      `${this.count} problem${this.count === 1 ? '' : 's'}${more}; nothing was created`,
      { diagnostics: this.#kept },
    );
  }
}
