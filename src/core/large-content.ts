import type { EvaluatorResult } from '../contract/evaluator.ts';
import { elementsAt, membersAt } from '../lib/canonical-bytes.ts';
import { canonicalJson, DigestParts } from '../lib/canonical-json.ts';
import { type ExecutionContent, resultContent } from './evidence.ts';

const ENVELOPE = new Set(['structured', 'text', 'tool_calls', 'turns', 'usage']);
const RESULT = new Set([
  'blocking',
  'dimension',
  'evidence',
  'index',
  'reason',
  'ref',
  'score',
  'severity',
  'status',
  'weight',
]);

/** `envelopeContent` of the envelope that begins at a place in canonical JSON: nothing is parsed, and nothing written anew. */
export function envelopeContentAt(bytes: Buffer, place: number): string {
  const parts = new DigestParts('proctor/envelope/1');
  addMembers(parts, bytes, place, (key, value) => {
    if (key !== 'turns') return ENVELOPE.has(key);
    return bytes[value] === LIST ? () => addTurns(parts, bytes, value) : false;
  });
  return parts.end();
}

/** The content digest of the case that is the whole of these bytes of canonical JSON. */
export function caseContentIn(bytes: Buffer): string {
  const parts = new DigestParts('proctor/case/1');
  addMembers(parts, bytes, 0, (key) => CASE.has(key));
  return parts.end();
}

const CASE = new Set(['context', 'expected', 'input', 'task_type']);
const LIST = 91;

function addTurns(parts: DigestParts, bytes: Buffer, place: number): void {
  let before = '"turns":[';
  for (const turn of elementsAt(bytes, place)) {
    parts.add(before);
    addMembers(parts, bytes, turn, (key) => key !== 'latency_ms');
    before = ',';
  }
  parts.add(before === ',' ? ']' : `${before}]`);
}

/** Adds the members of an object that are kept, as they stand there, or what stands in their place. */
function addMembers(
  parts: DigestParts,
  bytes: Buffer,
  place: number,
  kept: (key: string, value: number) => boolean | (() => void),
): void {
  let before = '{';
  for (const { key, start, value, end } of membersAt(bytes, place)) {
    const how = kept(key, value);
    if (how === false) continue;
    parts.add(before);
    if (how === true) parts.add(bytes.subarray(start, end));
    else how();
    before = ',';
  }
  parts.add(before === ',' ? '}' : '{}');
}

/** `executionContent` result by result, for those that are too large to be held together. */
export class ExecutionContentParts {
  readonly #parts = new DigestParts('proctor/execution/1');
  readonly #content: Omit<ExecutionContent, 'evaluator_results'>;
  #before = '';

  constructor(content: Omit<ExecutionContent, 'evaluator_results'>) {
    this.#content = content;
    const { aggregate, envelope } = content;
    this.#parts.add(`{"aggregate":${canonicalJson(aggregate)},"envelope":${canonicalJson(envelope)},`);
    this.#parts.add('"evaluator_results":[');
  }

  result(result: EvaluatorResult): void {
    this.#parts.add(`${this.#before}${canonicalJson(resultContent(result))}`);
    this.#before = ',';
  }

  /** The result that is the whole of these bytes of canonical JSON. */
  resultIn(bytes: Buffer): void {
    this.#parts.add(this.#before);
    addMembers(this.#parts, bytes, 0, (key) => RESULT.has(key));
    this.#before = ',';
  }

  end(): string {
    const { fault, status } = this.#content;
    return this.#parts.add(`],"fault":${canonicalJson(fault)},"status":${canonicalJson(status)}}`).end();
  }
}
