import type { NewSession, Page, SessionRow, SessionWorker } from '../../contract/store.ts';
import type { Connection } from './connection.ts';
import { note } from './journal.ts';
import type { Transaction } from './transaction.ts';

const COLUMNS = 'session_id, worker, host, boot_id, pid, process_start, started_at, last_seen_at, ended_at, role';

/** Records a worker session: one life of a worker. */
export function openSession(tx: Transaction, session: NewSession): void {
  const { session_id, worker, host, boot_id, pid, process_start, role = 'worker' } = session;
  const row = tx.connection.get<{ session_no: number }>(
    'insert into worker_session (session_id, worker, host, boot_id, pid, process_start, started_at, last_seen_at, role) values (?, ?, ?, ?, ?, ?, ?, ?, ?) returning session_no',
    session_id,
    worker,
    host,
    boot_id,
    pid,
    process_start,
    tx.now,
    tx.schedule,
    role,
  );
  const told = { session_id, worker, host, boot_id, pid, process_start, role };
  note(tx, 'session_opened', { no: row?.session_no ?? 0, ...told });
}

/** Notes that a session is alive. */
export function touchSession(tx: Transaction, sessionId: string): void {
  tx.connection.run('update worker_session set last_seen_at = ? where session_id = ?', tx.schedule, sessionId);
}

/** Ends a session. */
export function closeSession(tx: Transaction, sessionId: string): void {
  tx.connection.run(
    'update worker_session set ended_at = ? where session_id = ? and ended_at is null',
    tx.now,
    sessionId,
  );
}

/** The instant of something on the schedule, as a person is told. */
type Shown = (at: number) => number;

/** Sessions in the order of their ids, which is the order of their start. */
export function sessions(connection: Connection, page: Page<string>, shown: Shown): SessionRow[] {
  return connection
    .all<SessionRow & Record<string, unknown>>(
      `select ${COLUMNS} from worker_session where session_id > ? order by session_id limit ?`,
      page.after ?? '',
      page.limit,
    )
    .map((row) => ({ ...row, last_seen_at: shown(row.last_seen_at) }));
}

/** Sessions that have not ended and were seen since the instant. */
export function liveSessions(connection: Connection, sinceMs: number, shown: Shown): SessionRow[] {
  return connection
    .all<SessionRow & Record<string, unknown>>(
      `select ${COLUMNS} from worker_session where ended_at is null order by session_id`,
    )
    .map((row) => ({ ...row, last_seen_at: shown(row.last_seen_at) }))
    .filter((row) => row.last_seen_at >= sinceMs);
}

/** Who held the sessions. */
export function workers(connection: Connection, sessionIds: readonly string[]): SessionWorker[] {
  return connection.all<SessionWorker & Record<string, unknown>>(
    'select session_id, worker, host, pid from worker_session where session_id in (select value from json_each(?))',
    JSON.stringify(sessionIds),
  );
}
