import type { AttemptEnd, Fault, TerminalStatus } from '../../contract/state.ts';
import type { AttemptSpend, Completion, EvidenceRow, Fence, RetryLater, WriteResult } from '../../contract/store.ts';
import { attemptSeal, resultHash } from '../../core/evidence.ts';
import { reportCalls } from './breaker.ts';
import { charge, chargeLate, type Took, withTook } from './budgets.ts';
import { evidenceHead, insertEvidence } from './evidence.ts';
import type { Keys } from './keys.ts';
import { late } from './late.ts';
import type { Transaction } from './transaction.ts';

interface Place {
  readonly run_no: number;
  readonly run_id: string;
  readonly ordinal: number;
  readonly attempt: number;
}

interface Leased extends Place {
  readonly lease_id: string;
}

/** Appends evidence to an attempt that is still held; the same rows sent again are a duplicate. */
export function appendEvidence(tx: Transaction, keys: Keys, fence: Fence, rows: readonly EvidenceRow[]): WriteResult {
  const at = place(keys, fence);
  if (!holds(tx, at)) return late(tx, at, { verb: 'append_evidence', rows });
  return insertEvidence(tx, at, rows) ? 'written' : 'duplicate';
}

/**
 * Ends the attempt and its execution: evidence, seal, result, event, all under the fence. Where no call has worked yet and this one failed
 * for a reason that may be every call's, the execution is set aside instead, to be tried again.
 */
export function complete(tx: Transaction, keys: Keys, completion: Completion): WriteResult {
  const at = place(keys, completion);
  const held = heldAttempt(tx, keys, at);
  if (held === null) {
    if (committedBefore(tx, at, completion)) return 'duplicate';
    const took = chargeLate(tx, keys, at, completion.spend);
    return late(tx, at, { verb: 'complete', rows: completion.evidence, took });
  }
  insertEvidence(tx, at, completion.evidence, held.head);
  const { attempt_status: status, reason, fault } = completion;
  const hold = reportCalls(tx, keys, at, completion.calls);
  const took = charge(tx, keys, at.run_no, completion.spend);
  const seal = closeAttempt(tx, at, { status, reason, fault }, held);
  if (hold === null) endExecution(tx, at, seal, { ...completion, took });
  else {
    tx.event({ ...at, type: 'attempt_finished', body: withTook({ fault, reason, status }, took) });
    setAside(tx, at, 'retry_scheduled', tx.schedule + hold);
  }
  return 'written';
}

/** Ends the attempt with another to follow after a delay. */
export function fail(tx: Transaction, keys: Keys, retry: RetryLater): WriteResult {
  const at = place(keys, retry);
  if (!holds(tx, at)) {
    const took = chargeLate(tx, keys, at, retry.spend);
    return late(tx, at, { verb: 'fail', rows: retry.evidence, took });
  }
  insertEvidence(tx, at, retry.evidence);
  reportCalls(tx, keys, at, retry.calls);
  const took = charge(tx, keys, at.run_no, retry.spend);
  const { attempt_status: status, reason, fault } = retry;
  closeAttempt(tx, at, { status, reason, fault });
  tx.event({ ...at, type: 'attempt_finished', body: withTook({ fault, reason, status }, took) });
  const budget = fault === 'infrastructure' || fault === 'grader' ? fault : 'agent';
  tx.connection.run(
    `update or fail queue set status = 'retry_scheduled', available_at = ?1, ${budget}_failures = ${budget}_failures + 1, lease_id = null, session_no = null, lease_until = null
where run_no = ?2 and ordinal = ?3 and attempt = ?4 and lease_id = ?5 and status = 'running'`,
    tx.schedule + retry.delay_ms,
    at.run_no,
    at.ordinal,
    at.attempt,
    at.lease_id,
  );
  tx.count(at.run_no, 'running', -1);
  tx.count(at.run_no, 'retry_scheduled', 1);
  return 'written';
}

/** Gives the execution back, not charged against its attempts (what it took is spent): attempt `cancelled`, reason `released`. */
export function release(tx: Transaction, keys: Keys, fence: Fence, spend?: AttemptSpend): WriteResult {
  const at = place(keys, fence);
  if (!holds(tx, at)) return 'fenced';
  const took = charge(tx, keys, at.run_no, spend);
  closeAttempt(tx, at, { status: 'cancelled', reason: 'released', fault: 'cancelled' });
  tx.event({
    ...at,
    type: 'attempt_finished',
    body: withTook({ status: 'cancelled', fault: 'cancelled', reason: 'released' }, took),
  });
  setAside(tx, at, 'retry_scheduled', tx.schedule);
  return 'written';
}

/** Sets the execution aside without a lease, until its deadline: attempt `suspended`, execution `waiting`. */
export function suspend(tx: Transaction, keys: Keys, fence: Fence, deadlineMs: number): WriteResult {
  const at = place(keys, fence);
  if (!holds(tx, at)) return 'fenced';
  tx.connection.run(
    "update or fail attempt set status = 'suspended' where run_no = ? and ordinal = ? and attempt = ? and lease_id = ?",
    at.run_no,
    at.ordinal,
    at.attempt,
    at.lease_id,
  );
  tx.event({ ...at, type: 'attempt_suspended' });
  setAside(tx, at, 'waiting', tx.schedule + deadlineMs - tx.now);
  return 'written';
}

/** Closes and seals an attempt; answers its seal. */
export function closeAttempt(
  tx: Transaction,
  at: Leased,
  end: { status: AttemptEnd; reason: string | null; fault: Fault | null },
  held?: Held,
): string {
  const { connection, now } = tx;
  const key = [at.run_no, at.ordinal, at.attempt] as const;
  const row =
    held ??
    connection.get<{ started_at: number; session_id: string }>(
      'select a.started_at, s.session_id from attempt a join worker_session s on s.session_no = a.session_no where a.run_no = ? and a.ordinal = ? and a.attempt = ?',
      ...key,
    );
  const head = held?.head ?? evidenceHead(tx, at);
  const before = at.attempt === 1 ? '' : sealOf(tx, at.run_no, at.ordinal, at.attempt - 1);
  const seal = attemptSeal(before, head.hash, {
    run_id: at.run_id,
    ordinal: at.ordinal,
    attempt: at.attempt,
    session_id: row?.session_id ?? '',
    lease_id: at.lease_id,
    started_at: row?.started_at ?? 0,
    ended_at: now,
    status: end.status,
    reason: end.reason,
    fault: end.fault,
    evidence_count: head.seq,
  });
  connection.run(
    'update or fail attempt set status = ?, ended_at = ?, reason = ?, fault = ?, evidence_count = ?, seal = ? where run_no = ? and ordinal = ? and attempt = ? and ended_at is null',
    end.status,
    now,
    end.reason,
    end.fault,
    head.seq,
    seal,
    ...key,
  );
  return seal;
}

/** How an execution ends, and what its last attempt took. */
interface ExecutionEnd {
  readonly status: TerminalStatus;
  readonly fault: Fault | null;
  readonly aggregate: string | null;
  readonly passed: boolean;
  readonly content: string;
  readonly took?: Took;
}

/** Inserts the result (its primary key is the exactly-once gate), takes the execution off the queue and tells of it. */
export function endExecution(
  tx: Transaction,
  at: Place,
  seal: string,
  end: ExecutionEnd,
  from: 'running' | 'pending' | 'retry_scheduled' | 'waiting' = 'running',
): void {
  const { run_no, run_id, ordinal, attempt } = at;
  const { status, fault, aggregate, content } = end;
  const hash = resultHash(seal, { run_id, ordinal, attempt, status, fault, aggregate, content, finished_at: tx.now });
  tx.connection.run(
    'insert or fail into result (run_no, ordinal, attempt, status, fault, passed, aggregate, content, finished_at, hash) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
    run_no,
    ordinal,
    attempt,
    status,
    fault,
    end.passed ? 1 : 0,
    aggregate,
    content,
    tx.now,
    hash,
  );
  tx.connection.run('delete from queue where run_no = ? and ordinal = ?', run_no, ordinal);
  tx.event({
    run_no,
    run_id,
    type: 'execution_finished',
    ordinal,
    ...(attempt > 0 ? { attempt } : {}),
    body: withTook({ fault, passed: end.passed, result: hash, status }, end.took),
  });
  tx.count(run_no, from, -1);
  tx.count(run_no, status, 1);
  if (end.passed) tx.count(run_no, 'passed', 1);
}

/** The seal of an attempt, '' when there is none. */
export function sealOf(tx: Transaction, runNo: number, ordinal: number, attempt: number): string {
  return (
    tx.connection.get<{ seal: string | null }>(
      'select seal from attempt where run_no = ? and ordinal = ? and attempt = ?',
      runNo,
      ordinal,
      attempt,
    )?.seal ?? ''
  );
}

function place(keys: Keys, fence: Fence): Leased {
  const { run_id, ordinal, attempt, lease_id } = fence;
  return { run_no: keys.run(run_id), run_id, ordinal, attempt, lease_id };
}

/** The fence: only the holder of this very lease may write. Its end by the clock is not asked: only the reaper takes. */
function holds(tx: Transaction, at: Leased): boolean {
  const row = tx.connection.get(
    "select 1 from queue where run_no = ? and ordinal = ? and attempt = ? and lease_id = ? and status = 'running'",
    at.run_no,
    at.ordinal,
    at.attempt,
    at.lease_id,
  );
  return row !== undefined;
}

/** What a completion needs to know of the attempt it ends; `head` moves on with the evidence that is appended. */
interface Held {
  readonly started_at: number;
  readonly session_id: string;
  readonly head: { seq: number; hash: string };
}

/** The fence and what the attempt's end needs, in one look; null when this very lease is not held. */
function heldAttempt(tx: Transaction, keys: Keys, at: Leased): Held | null {
  const row = tx.connection.get<{ started_at: number; session_no: number; seq: number | null }>(
    `select a.started_at, a.session_no, (select max(seq) from evidence where run_no = ?1 and ordinal = ?2 and attempt = ?3) as seq
from queue q join attempt a on a.run_no = ?1 and a.ordinal = ?2 and a.attempt = ?3
where q.run_no = ?1 and q.ordinal = ?2 and q.attempt = ?3 and q.lease_id = ?4 and q.status = 'running'`,
    at.run_no,
    at.ordinal,
    at.attempt,
    at.lease_id,
  );
  if (row === undefined) return null;
  const { started_at, session_no, seq } = row;
  return {
    started_at,
    session_id: keys.sessionId(session_no),
    head: seq === null ? { seq: 0, hash: '' } : evidenceHead(tx, at),
  };
}

function setAside(tx: Transaction, at: Leased, status: 'retry_scheduled' | 'waiting', availableAt: number): void {
  tx.connection.run(
    'update or fail queue set status = ?, available_at = ?, lease_id = null, session_no = null, lease_until = null where run_no = ? and ordinal = ? and attempt = ? and lease_id = ?',
    status,
    availableAt,
    at.run_no,
    at.ordinal,
    at.attempt,
    at.lease_id,
  );
  tx.count(at.run_no, 'running', -1);
  tx.count(at.run_no, status, 1);
}

/** A completion that is not held may be one whose first commit succeeded and whose answer was lost. */
function committedBefore(tx: Transaction, at: Leased, completion: Completion): boolean {
  const row = tx.connection.get<{ attempt: number; content: string; lease_id: string; status: string }>(
    'select r.attempt, r.content, a.lease_id, a.status from result r join attempt a on a.run_no = r.run_no and a.ordinal = r.ordinal and a.attempt = r.attempt where r.run_no = ? and r.ordinal = ?',
    at.run_no,
    at.ordinal,
  );
  // The reaper may have ended it in the same words (failed, infrastructure): the attempt's own end tells the two apart.
  return (
    row?.attempt === at.attempt &&
    row.lease_id === at.lease_id &&
    row.status === completion.attempt_status &&
    row.content === completion.content
  );
}
