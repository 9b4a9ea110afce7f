import { z } from 'zod';
import type { Envelope } from '../../../contract/agent.ts';
import { pointerValue } from '../../../lib/json-pointer.ts';
import { plain, shown } from './shown.ts';
import { envelopePointerSchema } from './subject.ts';

const MAX_TEXT = 4_000_000;
const MAX_VALUES = 1_000_000;
const MAX_DEPTH = 200;

/** Which JSON of the envelope an evaluator looks at. */
export const targetSchema = z
  .union([z.enum(['auto', 'structured', 'text']), envelopePointerSchema])
  .default('auto')
  .describe(
    'auto: `structured`, or `text` parsed as JSON when that is null; or `structured`, `text`, or a JSON pointer into the envelope',
  );
export type Target = z.output<typeof targetSchema>;

/** The JSON that an agent answered with its name and size, or why there is none (the agent's fault). */
export type AnswerJson =
  | { readonly name: string; readonly value: unknown; readonly values: number }
  | { readonly problem: string };

/** The JSON of an envelope at the target; refuses what is absent, no JSON, over 4,000,000 characters, 1,000,000 values or 200 levels. */
export function answerJson(envelope: Envelope, target: Target): AnswerJson {
  const found = target.startsWith('/') ? pointedAt(envelope, target) : answered(envelope, target);
  if ('problem' in found) return found;
  const values = countValues(found.value);
  return typeof values === 'number' ? { ...found, values } : { problem: `${found.name} ${values.problem}` };
}

type Found = { readonly name: string; readonly value: unknown } | { readonly problem: string };

function pointedAt(envelope: Envelope, pointer: string): Found {
  const value = pointerValue(envelope, pointer);
  return value === undefined
    ? { problem: `the envelope has no \`${plain(pointer)}\`` }
    : { name: `\`${plain(pointer)}\``, value };
}

function answered(envelope: Envelope, target: Target): Found {
  if (target !== 'text' && envelope.structured !== null) return { name: '`structured`', value: envelope.structured };
  if (target === 'structured') return { problem: 'the envelope has no `structured`' };
  const { text } = envelope;
  if (text === null)
    return {
      problem: target === 'text' ? 'the envelope has no `text`' : 'the envelope has neither `structured` nor `text`',
    };
  if (text.length > MAX_TEXT)
    return { problem: `the text has ${text.length} characters; at most ${MAX_TEXT} are parsed as JSON` };
  try {
    return { name: 'the text', value: JSON.parse(text) as unknown };
  } catch (error) {
    // The engine's own message is left out: it differs between versions of Node, and a finding must not.
    if (error instanceof SyntaxError) return { problem: `the text is not JSON: ${shown(text)}` };
    throw error;
  }
}

/** How many values a JSON document has, without recursion, so that no depth overflows the stack. */
function countValues(root: unknown): number | { readonly problem: string } {
  let count = 1;
  let level: unknown[] = [root];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > MAX_DEPTH) return { problem: `nests deeper than ${MAX_DEPTH} levels` };
    const next: unknown[] = [];
    for (const value of level) {
      if (typeof value !== 'object' || value === null) continue;
      for (const member of Array.isArray(value) ? value : Object.values(value)) {
        count += 1;
        if (typeof member === 'object' && member !== null) next.push(member);
      }
      if (count > MAX_VALUES) return { problem: `has more than ${MAX_VALUES} values` };
    }
    level = next;
  }
  return count;
}
