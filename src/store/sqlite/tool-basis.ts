import { type GatewayHead, gatewayChainFault } from '../../core/gateway-replay.ts';
import { digestText } from '../../lib/canonical-json.ts';
import type { Connection } from './connection.ts';
import { type OperatorEvent, operatorDifferences } from './tool-audit-operator.ts';

const KEPT = [
  ['policy', 'proctor/policy/1', 'policy'],
  ['tool_definition', 'proctor/tool_definition/1', 'tool definition'],
] as const;

/** Where a body that is kept by its digest has another one. */
export function keptDifferences(connection: Connection): string[] {
  return KEPT.flatMap(([table, domain, what]) =>
    connection
      .all<{ digest: string; body: string }>(`select digest, body from ${table}`)
      .filter(({ digest, body }) => digestText(domain, body) !== digest)
      .map(({ digest }) => `the ${what} ${digest} has another body`),
  );
}

/** Policies that a call or an approval, of all or of one stream, was decided by and that are not kept. */
export function policyDifferences(connection: Connection, stream?: number): string[] {
  const own = stream === undefined ? '' : `and t.stream = ${stream}`;
  return connection
    .all<{ digest: string; id: string }>(
      `select policy_digest as digest, min(id) as id from (
select t.policy_digest, t.tool_run_id as id from tool_run t where t.policy_digest is not null ${own}
union all select a.policy_digest, a.approval_id from approval a join tool_run t on t.tool_run_no = a.tool_run_no where true ${own}
) where policy_digest not in (select digest from policy) group by policy_digest`,
    )
    .map(({ digest, id }) => `the policy ${digest} that decided ${id} is gone`);
}

/** Where pins, switches, definitions and policies, which every call stands on, are not what the events outside of runs tell. */
export function operatorBasis(connection: Connection): string[] {
  const found: string[] = [];
  const told: OperatorEvent[] = [];
  let head: GatewayHead = { count: 0, hash: '' };
  const events = connection.all<Parameters<typeof gatewayChainFault>[1] & OperatorEvent & Record<string, unknown>>(
    `select e.position, e.seq, e.type, e.at, e.body, e.hash, t.tool_run_id, null as run_id
from gateway_event e left join tool_run t on t.tool_run_no = e.tool_run_no where e.stream = 0 order by e.seq`,
  );
  for (const event of events) {
    const fault = gatewayChainFault(head, event);
    if (fault !== null) return [`outside of runs: ${fault}`]; // what follows rests on it
    head = { count: event.seq, hash: event.hash };
    if (event.tool_run_id === null) told.push(event);
  }
  const stored = connection.get<{ event_count: number; event_hash: string }>(
    'select event_count, event_hash from gateway_head where stream = 0',
  );
  if ((stored?.event_count ?? 0) !== head.count || (stored?.event_hash ?? '') !== head.hash)
    found.push(`outside of runs: the events end at ${head.count}, their head says ${stored?.event_count ?? 0}`);
  return [...found, ...operatorDifferences(connection, told), ...keptDifferences(connection)];
}
