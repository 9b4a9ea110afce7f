import { type Envelope, envelope } from '../contract/agent.ts';
import type { Profile } from '../contract/profile.ts';
import type { PlannedCase } from '../contract/snapshot.ts';
import { sessionEnvelope, turnsOf } from '../core/session.ts';

type Asked = Pick<PlannedCase, 'expected' | 'metadata'>;

/** An answer made for a trial, and how long it is said to have taken. */
export interface MadeAnswer {
  readonly envelope: Envelope;
  readonly latency_ms: number;
}

/** The answer that must pass of a case, each turn by itself where it is a session. */
export function oracleAnswer(profile: Profile, item: PlannedCase): MadeAnswer {
  return answered(profile, item, 0, rightAnswer);
}

/** No answer. */
export function emptyAnswer(profile: Profile, item: PlannedCase): MadeAnswer {
  return answered(profile, item, 0, () => envelope({ text: '' }));
}

const WRONG_TEXT = 'This answer is wrong on purpose.';
const WRONG_MS = 86_400_000;
const WRONG_USAGE = 1_000_000_000_000;

/** An answer of the right one's shape in which every value is another, made by a wrong tool, slowly, and at great cost. */
export function wrongAnswer(profile: Profile, item: PlannedCase): MadeAnswer {
  return answered(profile, item, WRONG_MS, (turn) => {
    const { metadata } = turn;
    const wrong = Object.hasOwn(metadata, 'wrong') ? metadata['wrong'] : changed(rightOf(turn));
    return {
      ...rightAnswer({ expected: wrong, metadata: {} }),
      tool_calls: [{ name: 'wrong_on_purpose', arguments: null, result: null, source: 'gated' as const }],
      usage: {
        input_tokens: WRONG_USAGE,
        output_tokens: WRONG_USAGE,
        total_tokens: 2 * WRONG_USAGE,
        cost_micro_usd: WRONG_USAGE,
      },
    };
  });
}

/** A wrong answer that has not even the right one's shape. */
export function misshapenAnswer(profile: Profile, item: PlannedCase): MadeAnswer {
  return answered(profile, item, WRONG_MS, () => envelope({ text: WRONG_TEXT, structured: WRONG_TEXT }));
}

/** Another value of the same shape. */
function changed(value: unknown): unknown {
  switch (typeof value) {
    case 'number':
      return -3 * value - 1_000_003;
    case 'boolean':
      return !value;
    case 'object':
      if (value === null) return WRONG_TEXT;
      if (Array.isArray(value)) return value.length === 0 ? [WRONG_TEXT] : [];
      return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, changed(member)]));
    default:
      return WRONG_TEXT;
  }
}

/** An answer to a case made by turns where it is a session. */
function answered(
  profile: Profile,
  item: PlannedCase,
  latency_ms: number,
  make: (asked: Asked) => Envelope,
): MadeAnswer {
  const turns = profile.case_groups[item.group]?.session ? turnsOf(item.input, item.expected) : null;
  if (turns === null || typeof turns === 'string') return { envelope: make(item), latency_ms };
  const answers = turns.map(({ expected }) => ({ envelope: make({ expected, metadata: {} }), latency_ms }));
  return { envelope: sessionEnvelope(answers), latency_ms };
}

/** What must pass: the case's `metadata.oracle`, else what `expected` says. */
function rightOf({ expected, metadata }: Asked): unknown {
  return Object.hasOwn(metadata, 'oracle') ? metadata['oracle'] : expected;
}

/** What must pass, in every place an evaluator may look. */
function rightAnswer(asked: Asked): Envelope {
  const right = rightOf(asked);
  if (typeof right === 'string') return envelope({ text: right, usage: NOTHING_USED });
  if (typeof right !== 'object' || right === null)
    return envelope({
      text: right === null ? null : String(right),
      structured: right as Envelope['structured'],
      usage: NOTHING_USED,
    });
  const { text, tool_calls, structured } = right as { text?: unknown; tool_calls?: unknown; structured?: unknown };
  return envelope({
    text: typeof text === 'string' ? text : JSON.stringify(right),
    structured: (structured ?? right) as Envelope['structured'],
    tool_calls: Array.isArray(tool_calls)
      ? tool_calls.map((call: { name: string; arguments?: unknown }) => ({
          name: call.name,
          arguments: (call.arguments ?? null) as Envelope['structured'],
          result: null,
          source: 'gated' as const,
        }))
      : [],
    usage: NOTHING_USED,
  });
}

/** An oracle costs nothing, and says so: an evaluator of usage must be able to pass it. */
const NOTHING_USED = { input_tokens: 0, output_tokens: 0, total_tokens: 0, cost_micro_usd: 0 };
