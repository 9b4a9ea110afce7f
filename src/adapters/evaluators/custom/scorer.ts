import type { EvaluatorInput, Finding } from '../../../contract/evaluator.ts';
import { finding } from '../../../contract/evaluator.ts';
import { evaluatorDocument, parseFinding } from './custom-evaluator.ts';

const DEFAULT_THRESHOLD = 0.5;

/**
 * The one argument of a module evaluator. It has our document's members for functions that answer a finding and, for
 * scorers in the shape of autoevals, `input`, `output`, `expected` and the members of the config beside them. Where names meet,
 * ours win. An `expected` of the form {text} is given as that text when the output is text; `case.expected` stays whole.
 */
export function scorerArgument(
  input: EvaluatorInput,
  config: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const { text, structured } = input.envelope;
  const expected = input.case.expected;
  const expectedText =
    typeof expected === 'object' && expected !== null && 'text' in expected && typeof expected.text === 'string'
      ? expected.text
      : expected;
  return {
    ...config,
    input: input.case.input,
    output: text ?? structured,
    expected: text === null ? expected : expectedText,
    ...evaluatorDocument(input, config),
  };
}

/** Reads a module evaluator's answer: a finding, a bare number or boolean, or {name, score, metadata} as autoevals' scorers answer. */
export function parseScore(answer: unknown, config: Readonly<Record<string, unknown>>, who: string): Finding {
  if (typeof answer === 'number') return scored(answer, null, null, config, who);
  if (typeof answer === 'boolean') return finding(answer ? 'passed' : 'failed', null);
  if (!isScore(answer)) return parseFinding(answer, who);
  const name = typeof answer.name === 'string' ? answer.name : null;
  if (answer.error !== undefined && answer.error !== null) throw new Error(`\`${who}\` erred: ${String(answer.error)}`);
  const evidence = { name, metadata: answer.metadata ?? null };
  if (answer.score === null)
    return parseFinding({ status: 'skipped', reason: `${name ?? 'the scorer'} gave no score`, evidence }, who);
  return scored(answer.score, name, evidence, config, who);
}

function scored(
  score: number,
  name: string | null,
  evidence: { name: string | null; metadata: unknown } | null,
  config: Readonly<Record<string, unknown>>,
  who: string,
): Finding {
  if (!(score >= 0 && score <= 1)) throw new Error(`\`${who}\` gave the score ${score}; a score is from 0 to 1`);
  const threshold = thresholdOf(config, who);
  const metadata = evidence?.metadata;
  const rationale =
    typeof metadata === 'object' &&
    metadata !== null &&
    'rationale' in metadata &&
    typeof metadata.rationale === 'string'
      ? `: ${metadata.rationale}`
      : '';
  const passed = score >= threshold;
  const reason = `${name ?? 'score'} ${Number(score.toFixed(4))} is ${passed ? 'at least' : 'below'} ${threshold}${rationale}`;
  return parseFinding({ status: passed ? 'passed' : 'failed', score, reason, evidence }, who);
}

/** The score from which an answer passes: `config.threshold`, from 0 to 1, default 0.5; throws when it is no such number. */
export function thresholdOf(config: Readonly<Record<string, unknown>>, who: string): number {
  const threshold = config['threshold'] ?? DEFAULT_THRESHOLD;
  if (typeof threshold !== 'number' || !(threshold >= 0 && threshold <= 1))
    throw new Error(`\`config.threshold\` of \`${who}\` is not a number from 0 to 1`);
  return threshold;
}

interface Score {
  readonly name?: unknown;
  readonly score: number | null;
  readonly metadata?: unknown;
  readonly error?: unknown;
}

function isScore(answer: unknown): answer is Score {
  if (typeof answer !== 'object' || answer === null || 'status' in answer || !('score' in answer)) return false;
  return answer.score === null || typeof answer.score === 'number';
}
