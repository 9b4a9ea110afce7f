import fc from 'fast-check';
import type { Fence } from '../../src/contract/store.ts';
import { fenceOf } from './store-fixture.ts';
import type { StoreModel } from './store-model.ts';

/** Which fence a worker shows: one that is held or any that ever was, sometimes with one part of it wrong. */
export const token = fc.record({
  pick: fc.nat(99),
  held: fc.boolean(),
  twist: fc.oneof(
    { weight: 6, arbitrary: fc.constant('none' as const) },
    { weight: 2, arbitrary: fc.constantFrom('attempt', 'lease', 'ordinal', 'run') },
  ),
});
export type Token = typeof token extends fc.Arbitrary<infer T> ? T : never;

/** The fence that the token stands for now; null when none was ever handed out. */
export function chosen(model: Readonly<StoreModel>, { pick, held, twist }: Token): Fence | null {
  const now = model.tokens.filter((one) => model.held(one) !== null);
  const pool = held && now.length > 0 ? now : model.tokens;
  const one = pool[pick % pool.length];
  const other = model.tokens[(pick * 7 + 3) % model.tokens.length];
  if (one === undefined || other === undefined) return null;
  const fence = fenceOf(one);
  if (twist === 'attempt')
    return { ...fence, attempt: fence.attempt > 1 && pick % 2 === 0 ? fence.attempt - 1 : fence.attempt + 1 };
  if (twist === 'lease') return { ...fence, lease_id: other.lease_id };
  if (twist === 'ordinal') return { ...fence, ordinal: other.ordinal };
  if (twist === 'run') return { ...fence, run_id: other.run_id };
  return fence;
}
