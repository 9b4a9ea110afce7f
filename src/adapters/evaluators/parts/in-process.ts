import type { Evaluator, EvaluatorInput, Finding } from '../../../contract/evaluator.ts';

/** An evaluator that grades synchronously in this process and holds nothing that needs closing. */
export function inProcess(evaluate: (input: EvaluatorInput) => Finding): Evaluator {
  return { external: false, evaluate, close: () => Promise.resolve() };
}
