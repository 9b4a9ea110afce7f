import type { RunDocument } from '../contract/documents.ts';
import type { TrippedBreaker } from '../contract/store.ts';
import { cureOf } from '../core/breaker.ts';

/** What made a run stop. */
export type Stop = Omit<TrippedBreaker, 'tripped_at'>;

/** What a document says of a run that its breaker stopped. */
export function pausedOf({ side, class: name, failures, reason }: Stop): NonNullable<RunDocument['paused']> {
  return { side, class: name, failures, reason, cure: cureOf(side, name) };
}

/** Why a run stopped that may be gone on with, and what to do. */
export function pausedText(tripped: Stop): string {
  const { side, failures, reason, cure } = pausedOf(tripped);
  const [one, many] =
    side === 'agent' ? ['call of the agent', 'calls of the agent'] : ['answer', 'answers to be graded'];
  const what = failures === 1 ? `the first ${one} failed` : `the first ${failures} ${many} all failed the same way`;
  return `no call has worked, and ${what}: ${reason}; ${cure}`;
}
