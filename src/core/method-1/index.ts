/**
 * Method 1: how runs were computed before methods were numbered. Frozen: what stands here recomputes verdicts that exist, byte for byte, and is
 * not edited. `method.ts` chooses.
 */
export { aggregate, failedAggregate } from './aggregate.ts';
export { summarize } from './case-summary.ts';
export { ComparisonBuilder, comparisonPolicy } from './comparison.ts';
export { EarlyStop } from './early-stop.ts';
export { VerdictBuilder } from './verdict.ts';
