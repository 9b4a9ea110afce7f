import type { NewSession, Page, SessionRow } from '../../contract/store.ts';
import type { Connection } from './connection.ts';
import type { Transaction } from './transaction.ts';

const COLUMNS = 'session_id, worker, host, boot_id, pid, process_start, started_at, last_seen_at, ended_at, role';

/** Records a worker session: one life of a worker. */
export function openSession(tx: Transaction, session: NewSession): void {
  const { session_id, worker, host, boot_id, pid, process_start, role = 'worker' } = session;
  tx.connection.run(
    'insert into worker_session (session_id, worker, host, boot_id, pid, process_start, started_at, last_seen_at, role) values (?, ?, ?, ?, ?, ?, ?, ?, ?)',
    session_id,
    worker,
    host,
    boot_id,
    pid,
    process_start,
    tx.now,
    tx.now,
    role,
  );
}

/** Notes that a session is alive. */
export function touchSession(tx: Transaction, sessionId: string): void {
  tx.connection.run('update worker_session set last_seen_at = ? where session_id = ?', tx.now, sessionId);
}

/** Ends a session. */
export function closeSession(tx: Transaction, sessionId: string): void {
  tx.connection.run(
    'update worker_session set ended_at = ? where session_id = ? and ended_at is null',
    tx.now,
    sessionId,
  );
}

/** Sessions in the order of their ids, which is the order of their start. */
export function sessions(connection: Connection, page: Page<string>): SessionRow[] {
  return connection.all<SessionRow & Record<string, unknown>>(
    `select ${COLUMNS} from worker_session where session_id > ? order by session_id limit ?`,
    page.after ?? '',
    page.limit,
  );
}

/** Sessions that have not ended and were seen since the instant. */
export function liveSessions(connection: Connection, sinceMs: number): SessionRow[] {
  return connection.all<SessionRow & Record<string, unknown>>(
    `select ${COLUMNS} from worker_session where ended_at is null and last_seen_at >= ? order by session_id`,
    sinceMs,
  );
}
