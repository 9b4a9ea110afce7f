import { commandEvaluator } from './command.ts';
import type { CustomEvaluator } from './custom-evaluator.ts';
import { httpEvaluator } from './http.ts';
import { moduleEvaluator } from './module.ts';

export type { CustomEvaluator, CustomEvaluatorContext } from './custom-evaluator.ts';

/** Makers of own evaluators by how their ref begins. */
const KINDS: readonly (readonly [prefix: string, make: (ref: string) => CustomEvaluator])[] = [
  ['module:', moduleEvaluator],
  ['command:', commandEvaluator],
  ['https://', httpEvaluator],
  ['http://', httpEvaluator],
];

/** The own evaluator that a ref names, or null when the ref is not of an own one; throws `invalid_profile` for a malformed ref. */
export function customEvaluatorOf(ref: string): CustomEvaluator | null {
  return KINDS.find(([prefix]) => ref.startsWith(prefix))?.[1](ref) ?? null;
}
