import { type Envelope, envelope, envelopeSchema } from '../../contract/agent.ts';

/** An envelope, or one sentence about what is wrong with what the agent returned. */
export type ParsedEnvelope =
  | { readonly type: 'envelope'; readonly envelope: Envelope }
  | { readonly type: 'problem'; readonly problem: string };

const MEMBERS: ReadonlySet<string> = new Set(['text', 'structured', 'tool_calls', 'trace', 'usage', 'metadata', 'raw']);
const TOOL_CALL_MEMBERS: ReadonlySet<string> = new Set(['name', 'arguments', 'result', 'source']);
const USAGE_MEMBERS: ReadonlySet<string> = new Set(['input_tokens', 'output_tokens', 'total_tokens', 'cost_micro_usd']);
const MAX_DEPTH = 500; // far below the stack, far above any answer

/**
 * Reads what an agent returned: a string is `text`; an object with members of the envelope is the envelope; any other
 * JSON is `structured`. `raw` keeps the whole value when the envelope does not say it all.
 */
export function parseEnvelope(value: unknown): ParsedEnvelope {
  const flaw = jsonFlaw(value);
  if (flaw !== null) return { type: 'problem', problem: flaw };
  if (typeof value === 'string') return { type: 'envelope', envelope: envelope({ text: value }) };
  if (!isRecord(value) || !Object.keys(value).some((key) => MEMBERS.has(key))) {
    return { type: 'envelope', envelope: envelope({ structured: value as Envelope['structured'] }) };
  }
  return parseMembers(value, saysItAll(value) ? (value['raw'] ?? null) : value);
}

/** Reads the envelope's members from a record; null members count as absent. `raw` is taken as given. */
export function parseMembers(members: Readonly<Record<string, unknown>>, raw: unknown): ParsedEnvelope {
  const present = Object.fromEntries(
    Object.entries(members).filter(([, value]) => value !== null && value !== undefined),
  );
  const parsed = envelopeSchema.safeParse({
    ...present,
    raw,
    ...(isRecord(present['usage']) ? { usage: normalizedUsage(present['usage']) } : {}),
  });
  if (parsed.success) return { type: 'envelope', envelope: parsed.data };
  const issue = parsed.error.issues[0];
  return {
    type: 'problem',
    problem: `the member \`${issue?.path.join('.') ?? ''}\` is not as the envelope has it: ${issue?.message ?? 'invalid'}`,
  };
}

/** Usage with the names of OpenAI's and Anthropic's usage blocks and decimal USD understood. */
export function normalizedUsage(usage: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const cost = usage['cost_usd'];
  const input = usage['input_tokens'] ?? usage['prompt_tokens'] ?? null;
  const output = usage['output_tokens'] ?? usage['completion_tokens'] ?? null;
  return {
    input_tokens: input,
    output_tokens: output,
    total_tokens:
      usage['total_tokens'] ?? (typeof input === 'number' && typeof output === 'number' ? input + output : null),
    cost_micro_usd: usage['cost_micro_usd'] ?? (typeof cost === 'number' ? Math.round(cost * 1e6) : null),
  };
}

/** What keeps a value from being recorded as JSON (depth, lone surrogate, number out of range), with its place; null when nothing does. */
export function jsonFlaw(value: unknown): string | null {
  return flawAt(value, [], 0);
}

/** True for a JSON object. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function flawAt(value: unknown, path: (string | number)[], depth: number): string | null {
  if (typeof value === 'string')
    return value.isWellFormed() ? null : `the text at \`${pointer(path)}\` holds a lone surrogate`;
  if (typeof value === 'number')
    return Number.isFinite(value) ? null : `the number at \`${pointer(path)}\` is out of range`;
  if (typeof value !== 'object' || value === null) return null;
  if (depth >= MAX_DEPTH) return `it is nested deeper than ${MAX_DEPTH} levels`;
  for (const key of Object.keys(value)) {
    if (!key.isWellFormed()) return `a member name at \`${pointer(path)}\` holds a lone surrogate`;
    path.push(key);
    const flaw = flawAt((value as Record<string, unknown>)[key], path, depth + 1);
    if (flaw !== null) return flaw;
    path.pop();
  }
  return null;
}

function pointer(path: readonly (string | number)[]): string {
  return path.length === 0 ? '/' : path.map((token) => `/${token}`).join('');
}

function saysItAll(value: Readonly<Record<string, unknown>>): boolean {
  const calls = value['tool_calls'];
  return (
    Object.keys(value).every((key) => MEMBERS.has(key)) &&
    (!isRecord(value['usage']) || Object.keys(value['usage']).every((key) => USAGE_MEMBERS.has(key))) &&
    (!Array.isArray(calls) ||
      calls.every((call) => !isRecord(call) || Object.keys(call).every((key) => TOOL_CALL_MEMBERS.has(key))))
  );
}
