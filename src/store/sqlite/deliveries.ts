import type { ClaimedDelivery, DeliveryFilter, DeliveryRow, DeliverySettlement, Page } from '../../contract/store.ts';
import { dedupeKey } from '../../core/delivery.ts';
import { randomText } from '../../lib/id.ts';
import type { Connection } from './connection.ts';
import type { Transaction } from './transaction.ts';

/**
 * Writes a fact into the outbox, in the transaction that makes it true, with one delivery for each endpoint of the run's profile that
 * wants it; an endpoint that asked to be left alone is. The dedupe key of an end is the run's: a run ends once, so it never publishes two
 * ends. That of a stop is its event's. Answers the key, for the event that tells of it and comes next.
 */
export function publish(tx: Transaction, at: { run_no: number; run_id: string }, type: string, body: string): string {
  const dedupe_key = dedupeKey(at.run_id, type, tx.head(at.run_no).count + 1);
  const row = tx.connection.get<{ outbox_no: number }>(
    'insert into outbox (run_no, dedupe_key, type, body, created_at) values (?, ?, ?, ?, ?) returning outbox_no',
    at.run_no,
    dedupe_key,
    type,
    body,
    tx.now,
  );
  tx.connection.run(
    `insert into delivery (outbox_no, endpoint, status, next_at)
select ?1, w.value ->> '$.url', 'pending', max(?2, coalesce((
  select max(d.next_at) from delivery d where d.endpoint = w.value ->> '$.url' and d.status = 'failed' and d.last_status in (429, 502, 503, 504)
), 0)) from run r join snapshot s on s.digest = r.snapshot_digest, json_each(s.body, '$.profile.webhooks') w
where r.run_no = ?3 and exists (select 1 from json_each(w.value, '$.events') e where e.value = ?4)`,
    row?.outbox_no ?? 0,
    tx.schedule,
    at.run_no,
    type,
  );
  return dedupe_key;
}

const DUE = `from delivery d join outbox o on o.outbox_no = d.outbox_no join run r on r.run_no = o.run_no
where d.status in ('pending', 'failed') and d.next_at <= ?1 and (d.lease_until is null or d.lease_until <= ?1)
and not exists (
  select 1 from delivery e join outbox p on p.outbox_no = e.outbox_no
  where e.endpoint = d.endpoint and p.run_no = o.run_no and e.outbox_no < d.outbox_no and e.status in ('pending', 'failed')
)`;

/** True when a delivery could be claimed now; a look, so that idle publishers spend no transaction. */
export function deliveriesDue(connection: Connection, schedule: number): boolean {
  return connection.get(`select 1 ${DUE} limit 1`, schedule) !== undefined;
}

/** Leases deliveries that are due, oldest first; of one run to one endpoint only the first that is not through. */
export function claimDeliveries(tx: Transaction, limit: number, leaseMs: number): ClaimedDelivery[] {
  const due = tx.connection.all<ClaimedDelivery & { status: string }>(
    `select d.outbox_no, d.endpoint, d.status, d.attempts, r.run_id, o.dedupe_key, o.type, o.body, o.created_at ${DUE} order by d.outbox_no, d.endpoint limit ?2 + 0`,
    tx.schedule,
    limit,
  );
  const lease_id = randomText(16);
  return due.map(({ status, ...delivery }) => {
    tx.connection.run(
      'update delivery set status = ?, lease_id = ?, lease_until = ?, attempts = attempts + 1 where outbox_no = ? and endpoint = ?',
      'pending', // from `failed` it is tried again as pending
      lease_id,
      tx.schedule + leaseMs,
      delivery.outbox_no,
      delivery.endpoint,
    );
    return { ...delivery, attempts: delivery.attempts + 1, lease_id };
  });
}

/** Writes what became of a try; false when the lease has been taken by another publisher meanwhile. */
export function settleDelivery(tx: Transaction, end: DeliverySettlement): boolean {
  const { outbox_no, endpoint, lease_id, decision, status, error } = end;
  const set = (to: string, nextAt: number) =>
    tx.connection.run(
      `update delivery set status = ?1, next_at = ?2, last_status = ?3, last_error = ?4, lease_id = null, lease_until = null
where outbox_no = ?5 and endpoint = ?6 and lease_id = ?7`,
      to,
      nextAt,
      status,
      error,
      outbox_no,
      endpoint,
      lease_id,
    );
  if (decision.type === 'published') return set('published', tx.schedule) === 1;
  if (decision.type === 'dead') {
    const held = tx.connection.run(
      "update delivery set status = 'failed', last_status = ?, last_error = ? where outbox_no = ? and endpoint = ? and lease_id = ?",
      status,
      error,
      outbox_no,
      endpoint,
      lease_id,
    );
    if (held === 0) return false;
    giveUp(tx, 'outbox_no = ?1 and endpoint = ?2', outbox_no, endpoint);
    if (decision.endpoint_gone) disable(tx, endpoint);
    return true;
  }
  if (set('failed', tx.schedule + decision.wait_ms) === 0) return false;
  if (decision.endpoint_wait_ms > 0)
    tx.connection.run(
      "update delivery set next_at = max(next_at, ?1) where endpoint = ?2 and status in ('pending', 'failed') and lease_id is null",
      tx.schedule + decision.endpoint_wait_ms,
      endpoint,
    );
  return true;
}

/** What waits for an endpoint that is gone waits for nothing. */
function disable(tx: Transaction, endpoint: string): void {
  tx.connection.run(
    "update delivery set status = 'failed', last_error = 'the endpoint answered 410 Gone' where endpoint = ? and status = 'pending' and lease_id is null",
    endpoint,
  );
  giveUp(tx, "endpoint = ?1 and status = 'failed' and lease_id is null", endpoint);
}

function giveUp(tx: Transaction, which: string, ...values: (string | number)[]): void {
  tx.connection.run(
    `update delivery set status = 'dead', lease_id = null, lease_until = null where ${which}`,
    ...values,
  );
}

/** Puts dead deliveries back to be tried at once, with all their tries again; answers how many. */
export function replayDeliveries(tx: Transaction, filter: DeliveryFilter): number {
  const { where, values } = conditions({ ...filter, status: 'dead' });
  return tx.connection.run(
    `update delivery set status = 'pending', attempts = 0, next_at = ? where (outbox_no, endpoint) in (
select d.outbox_no, d.endpoint from delivery d join outbox o on o.outbox_no = d.outbox_no join run r on r.run_no = o.run_no where ${where})`,
    tx.schedule,
    ...values,
  );
}

/** Deliveries, newest first; the key is the outbox number. */
export function deliveries(
  connection: Connection,
  filter: DeliveryFilter,
  page: Page<number>,
  shown: (at: number) => number,
): DeliveryRow[] {
  const { where, values } = conditions(filter);
  const rows = connection.all<DeliveryRow & Record<string, unknown>>(
    `select d.outbox_no, r.run_id, o.type, d.endpoint, d.status, d.attempts, d.next_at, d.last_status, d.last_error, o.created_at
from delivery d join outbox o on o.outbox_no = d.outbox_no join run r on r.run_no = o.run_no
where ${where} and (? is null or d.outbox_no < ?) order by d.outbox_no desc, d.endpoint limit ?`,
    ...values,
    page.after,
    page.after,
    page.limit,
  );
  return rows.map((row) => ({ ...row, next_at: shown(row.next_at) }));
}

function conditions({ run_id, status, endpoint }: DeliveryFilter): { where: string; values: string[] } {
  const all = [
    ['r.run_id = ?', run_id],
    ['d.status = ?', status],
    ['d.endpoint = ?', endpoint],
  ].filter((entry): entry is [string, string] => typeof entry[1] === 'string');
  return { where: ['true', ...all.map(([sql]) => sql)].join(' and '), values: all.map(([, value]) => value) };
}
