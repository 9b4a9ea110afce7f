import type { RunReaders } from '../../contract/store.ts';
import { breaker } from './breaker.ts';
import { budgets } from './budgets.ts';
import type { Connection } from './connection.ts';
import { corrections } from './corrections.ts';
import * as gateway from './gateway-run.ts';
import type { Keys } from './keys.ts';
import * as readers from './readers.ts';
import { workers } from './sessions.ts';

/** The readers of runs over one connection; `read` is how a query is made and what its errors become, `shown` how a point of the schedule is told. */
export function runReaders(
  connection: Connection,
  keys: Keys,
  read: <T>(query: () => T) => Promise<T>,
  shown: (at: number) => number = (at) => at,
): RunReaders {
  return {
    run: (id) => read(() => readers.run(connection, id)),
    snapshot: (digest) => read(() => readers.snapshot(connection, digest)),
    budgets: (id) => read(() => budgets(connection, keys, id)),
    breaker: (id) => read(() => breaker(connection, keys, id)),
    progress: (id) => read(() => readers.progress(connection, keys, id, shown)),
    executions: (id, page) => read(() => readers.executions(connection, keys, id, page)),
    executionsNotPassed: (id, page) => read(() => readers.executionsNotPassed(connection, keys, id, page)),
    executionsAt: (id, ordinals) => read(() => readers.executionsAt(connection, keys, id, ordinals)),
    rowCounts: (id) => read(() => readers.rowCounts(connection, keys, id)),
    attempts: (id, ordinals) => read(() => readers.attempts(connection, keys, id, ordinals)),
    evidence: (id, ordinals) => read(() => readers.evidence(connection, keys, id, ordinals)),
    events: (id, page) => read(() => readers.events(connection, keys, id, page)),
    eventHead: (id) => read(() => readers.eventHead(connection, keys, id)),
    lateEvidence: (id, page) => read(() => readers.lateEvidence(connection, keys, id, page)),
    corrections: (id) => read(() => corrections(connection, keys, id)),
    gatewayHead: (id) => read(() => gateway.gatewayHead(connection, keys.run(id))),
    toolRunsIn: (id, page) => read(() => gateway.toolRunsIn(connection, keys, id, page)),
    approvalsIn: (id, page) => read(() => gateway.approvalsIn(connection, keys, id, page)),
    toolRunsAt: (id, ordinals) => read(() => gateway.toolRunsAt(connection, keys, id, ordinals)),
    workers: (ids) => read(() => workers(connection, ids)),
    gatewayEventsIn: (id, page) => read(() => gateway.gatewayEventsIn(connection, keys, id, page)),
    outbox: (id) => read(() => readers.outbox(connection, keys, id)),
  };
}
