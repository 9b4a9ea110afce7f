import type { Envelope, TurnAnswer, Usage } from '../contract/agent.ts';
import { type Finding, finding } from '../contract/evaluator.ts';

/** One turn of a session: what is asked, and what is expected of the answer (null: nothing). */
export interface Turn {
  readonly input: unknown;
  readonly expected: unknown;
}

const MOST_TURNS = 200;

/** The turns of a case whose group grades sessions: `input.turns` and, where anything is expected, `expected.turns`; or what is wrong. */
export function turnsOf(input: unknown, expected: unknown): readonly Turn[] | string {
  const asked = listOf(input);
  if (asked === null || asked.length === 0)
    return '`input` must be `{turns: [...]}` with at least one turn: its group grades sessions';
  if (asked.length > MOST_TURNS) return `a session has at most ${MOST_TURNS} turns, this one ${asked.length}`;
  const wanted = expected === null || expected === undefined ? [] : listOf(expected);
  if (wanted === null || (wanted.length > 0 && wanted.length !== asked.length))
    return `\`expected\` must be \`{turns: [...]}\` with an entry for each of the ${asked.length} turns, null for none`;
  return asked.map((turn, index) => ({ input: turn, expected: wanted[index] ?? null }));
}

/** The turns of a session that an evaluator looks at, by place: the last, or each that expects something (all where none does). */
export function gradedTurns(
  turns: readonly Turn[],
  which: 'each' | 'last',
): readonly (Turn & { readonly index: number })[] {
  const expecting = turns.some(({ expected }) => expected !== null);
  return turns
    .map((turn, index) => ({ ...turn, index }))
    .filter(({ index, expected }) => (which === 'last' ? index === turns.length - 1 : !expecting || expected !== null));
}

/** The answers of a session as one envelope: text and structured of the last turn, everything called and used, and every turn by itself. */
export function sessionEnvelope(
  answers: readonly { readonly envelope: Envelope; readonly latency_ms: number }[],
): Envelope {
  const last = answers.at(-1)?.envelope;
  const envelopes = answers.map(({ envelope }) => envelope);
  return {
    metadata: last?.metadata ?? {},
    raw: null,
    structured: last?.structured ?? null,
    text: last?.text ?? null,
    tool_calls: envelopes.flatMap(({ tool_calls }) => tool_calls),
    trace: envelopes.flatMap(({ trace }) => trace),
    turns: answers.map(({ envelope, latency_ms }) => {
      const { structured, text, tool_calls, usage } = envelope;
      return { latency_ms, structured, text, tool_calls, usage };
    }),
    usage: summed(envelopes.map(({ usage }) => usage)),
  };
}

/** One turn's answer as an envelope of its own, for an evaluator that looks at turns. */
export function turnEnvelope(whole: Envelope, { structured, text, tool_calls, usage }: TurnAnswer): Envelope {
  return { metadata: whole.metadata, raw: null, structured, text, tool_calls, trace: [], usage };
}

/** What an evaluator found of each turn as one finding: passed when all are, the mean score, the worst turn's reason. */
export function sessionFinding(turns: readonly { readonly turn: number; readonly found: Finding }[]): Finding {
  // One that trying again cannot mend decides.
  const erred =
    turns.find(({ found }) => found.fault === 'configuration') ?? turns.find(({ found }) => found.status === 'error');
  if (erred !== undefined) return { ...erred.found, reason: `turn ${erred.turn}: ${erred.found.reason ?? 'error'}` };
  const graded = turns.filter(({ found }) => found.status !== 'skipped');
  if (graded.length === 0) return finding('skipped', 'no turn was graded');
  const scores = graded.map(({ found }) => found.score ?? (found.status === 'passed' ? 1 : 0));
  const failed = graded.filter(({ found }) => found.status === 'failed');
  const [first] = failed;
  const reason =
    first === undefined
      ? `all ${graded.length} turns passed`
      : `turn ${first.turn}: ${first.found.reason ?? 'failed'}${failed.length > 1 ? `; ${failed.length} turns failed` : ''}`;
  return finding(first === undefined ? 'passed' : 'failed', reason, {
    severity: first?.found.severity ?? 'none',
    score: scores.reduce((sum, score) => sum + score, 0) / scores.length,
    evidence: {
      ...costs(turns.map(({ found }) => found.evidence)),
      turns: turns.map(({ turn, found }) => ({
        turn,
        status: found.status,
        score: found.score,
        reason: found.reason,
        evidence: found.evidence,
      })),
    },
  });
}

/** What evaluators say that they took, kept where budgets look for it. */
function costs(evidence: readonly unknown[]): { cost_micro_usd?: number; tokens?: number } {
  const sum = (name: string) =>
    evidence.reduce<number>(
      (total, item) => total + (Number((item as Record<string, unknown> | null)?.[name]) || 0),
      0,
    );
  const cost_micro_usd = sum('cost_micro_usd');
  const tokens = sum('tokens');
  return cost_micro_usd + tokens === 0 ? {} : { cost_micro_usd, tokens };
}

function summed(usages: readonly (Usage | null)[]): Usage | null {
  const told = usages.filter((usage) => usage !== null);
  if (told.length === 0) return null;
  // What one turn does not tell is not known of the whole.
  const sum = (name: keyof Usage) =>
    usages.every((usage) => usage !== null && usage[name] !== null)
      ? told.reduce((total, usage) => total + (usage[name] ?? 0), 0)
      : null;
  return {
    cost_micro_usd: sum('cost_micro_usd'),
    input_tokens: sum('input_tokens'),
    output_tokens: sum('output_tokens'),
    total_tokens: sum('total_tokens'),
  };
}

function listOf(value: unknown): readonly unknown[] | null {
  const turns = (value as { turns?: unknown } | null)?.turns;
  return Array.isArray(turns) ? turns : null;
}
