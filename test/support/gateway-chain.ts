import type { GatewayEventRow } from '../../src/contract/store.ts';
import { gatewayEventHash } from '../../src/core/gateway.ts';

/** Where a stream's chain of events breaks, in words; null when it holds from the event after `from` up to its head. */
export function eventChainProblem(
  events: readonly GatewayEventRow[],
  head: number | null,
  from: { seq: number; hash: string } = { seq: 0, hash: '' },
): string | null {
  let { seq, hash } = from;
  for (const event of [...events].sort((a, b) => a.seq - b.seq)) {
    if (event.seq !== seq + 1) return `event ${event.seq} is not the next after ${seq}`;
    if (event.hash !== gatewayEventHash(hash, event)) return `event ${event.seq} is not what its hash is of`;
    ({ seq, hash } = event);
  }
  return head === null || head === seq ? null : `the head counts ${head} events, there are ${seq}`;
}
