import type { Snapshot } from '../../contract/snapshot.ts';
import type { AttemptRow, EvidenceRecord, ExecutionRow, ToolRunRow } from '../../contract/store.ts';
import { contradictedByDenials, deniedByPolicy } from '../../core/denials.ts';
import { attemptSeal, evidenceHash, resultHash } from '../../core/evidence.ts';
import { methodOf } from '../../core/method.ts';
import { checkContent, checkFailure } from './check-content.ts';
import type { PlannedExecution } from './checked-plan.ts';
import type { Differences } from './differences.ts';
import type { Bodies } from './read-bodies.ts';
import type { Told } from './told.ts';

/** One execution with everything that belongs to it, as the store has it. */
export interface ExecutionEvidence {
  readonly run_id: string;
  /** Null when the snapshot cannot be read. */
  readonly snapshot: Snapshot | null;
  readonly row: ExecutionRow;
  /** What the plan says of it; null when the plan cannot be read. */
  readonly planned: PlannedExecution | null;
  readonly attempts: readonly AttemptRow[];
  readonly evidence: readonly EvidenceRecord[];
  /** The calls of its gated tools; null where they are not this run's: it graded another anew. */
  readonly calls: readonly ToolRunRow[] | null;
  /** The bodies of the evidence by attempt. */
  readonly bodies: ReadonlyMap<number, Bodies>;
  readonly told: Told;
}

const NO_BODIES: Bodies = { envelope: null, results: [], failure: null };

/** Recomputes one execution from its raw evidence: chain, seals, aggregate, content and result hash; holds it against plan and events. */
export async function checkExecution(input: ExecutionEvidence, name: string, differences: Differences): Promise<void> {
  const { row, attempts } = input;
  checkPlan(input, name, differences);
  const byAttempt = Map.groupBy(input.evidence, (record) => record.attempt);
  for (const number of byAttempt.keys()) {
    if (attempts.some((attempt) => attempt.attempt === number)) continue;
    differences.add('evidence', `${name} attempt ${number}`, 'evidence of an attempt that is not there');
  }
  let seal = '';
  for (const [index, attempt] of attempts.entries()) {
    const at = `${name} attempt ${attempt.attempt}`;
    differences.same('attempt', at, 'attempts are numbered from 1 without a gap', index + 1, attempt.attempt);
    seal = checkAttempt(input, attempt, byAttempt.get(attempt.attempt) ?? [], seal, at, differences);
    checkFailure(attempt, input.bodies.get(attempt.attempt), at, differences);
    checkDenials(input, attempt, at, differences);
  }
  checkTold(input, name, differences);
  if (row.hash === null) differences.same('queue', name, 'attempt', attempts.length, row.attempt);
  else await checkResult(input, seal, name, differences);
}

function checkPlan({ row, planned }: ExecutionEvidence, name: string, differences: Differences): void {
  if (planned === null) return; // the plan is named already
  differences.same('execution', name, 'case_id', planned.case.id, row.case_id);
  differences.same('execution', name, 'repeat', planned.repeat, row.repeat);
  differences.same('execution', name, 'case_content', planned.case.case_content, row.case_content);
  differences.same('execution', name, 'cluster', planned.case.cluster, row.cluster);
}

/** A failure that is policy's rests on a call that policy denied in the attempt, and with such a call it is not the agent's. */
function checkDenials(
  { snapshot, calls }: ExecutionEvidence,
  attempt: AttemptRow,
  name: string,
  differences: Differences,
): void {
  if (snapshot === null || calls === null || attempt.ended_at === null) return;
  const { fault, reason } = attempt;
  if (fault !== 'policy' && methodOf(snapshot).version === 1) return; // made when no failure was policy's
  const denied = calls
    .filter((call) => call.attempt === attempt.attempt && deniedByPolicy(call))
    .map(({ source, name: tool }) => `${source}.${tool}`);
  const why = contradictedByDenials(attempt, denied, snapshot.profile.limits);
  if (why !== null)
    differences.add('attempt', name, why, { expected: denied.join(', ') || null, found: `${fault}: ${reason}` });
}

/** Checks an attempt's chain and seal; answers its seal, '' while it is open. */
function checkAttempt(
  input: ExecutionEvidence,
  attempt: AttemptRow,
  evidence: readonly EvidenceRecord[],
  before: string,
  name: string,
  differences: Differences,
): string {
  const { run_id } = input;
  let head = '';
  for (const [index, record] of evidence.entries()) {
    const { ordinal, seq } = record;
    const at = `${name} seq ${seq}`;
    differences.same('evidence', at, 'evidence is numbered from 1 without a gap', index + 1, seq);
    const hash = evidenceHash(head, { run_id, ordinal, attempt: attempt.attempt, seq }, record);
    differences.same('evidence', at, 'the hash chain', hash, record.hash);
    head = record.hash;
  }
  const { ended_at, evidence_count, seal } = attempt;
  if (ended_at === null) {
    checkOpen(input, attempt, name, differences);
    return '';
  }
  differences.same('evidence', name, 'rows that the attempt counted', evidence_count, evidence.length);
  const record = { ...attempt, run_id, ended_at, evidence_count: evidence_count ?? -1 }; // none is not nought
  differences.same('attempt', name, 'the seal', attemptSeal(before, head, record), seal);
  return seal ?? '';
}

/** An open attempt says nothing yet but that it is open. */
function checkOpen(
  { row, told }: ExecutionEvidence,
  attempt: AttemptRow,
  name: string,
  differences: Differences,
): void {
  const { status, reason, fault, evidence_count, seal } = attempt;
  differences.same('attempt', name, 'status of an open attempt', told.openStatus(row.ordinal), status);
  for (const [column, value] of Object.entries({ reason, fault, evidence_count, seal })) {
    differences.same('attempt', name, `${column} of an open attempt`, null, value);
  }
}

/** Holds the rows against the events, so that a row which no event tells of is found too. */
function checkTold({ row, attempts, told }: ExecutionEvidence, name: string, differences: Differences): void {
  const { ordinal } = row;
  const ended = attempts.filter((attempt) => attempt.ended_at !== null).length;
  differences.same('attempt', name, 'attempts that events tell of', told.started(ordinal), attempts.length);
  differences.same('attempt', name, 'ended attempts that events tell of', told.ended(ordinal), ended);
  const results = row.hash === null ? 0 : 1;
  differences.same('result', name, 'results that events tell of', told.finished(ordinal), results);
}

async function checkResult(
  input: ExecutionEvidence,
  seal: string,
  name: string,
  differences: Differences,
): Promise<void> {
  const { run_id, row } = input;
  const { ordinal, attempt, status, fault, aggregate, hash } = row;
  const last = input.attempts.at(-1);
  differences.same('result', name, 'it is by the last attempt', last?.attempt ?? 0, attempt);
  const content = row.content ?? '';
  const finished_at = row.finished_at ?? 0;
  const recomputed = resultHash(seal, { run_id, ordinal, attempt, status, fault, aggregate, content, finished_at });
  differences.same('result', name, 'the hash of the result', recomputed, hash);
  if (fault !== 'cancelled') {
    differences.same('result', name, 'the fault is its last attempt’s', last?.fault, fault);
    const completed = last?.status === 'completed';
    differences.same('result', name, 'completed as its last attempt', completed, status === 'completed');
  }
  const { snapshot, planned } = input;
  const profile = snapshot?.profile;
  const group = planned === null ? undefined : profile?.case_groups[planned.case.group];
  const any = input.evidence.some((record) => record.attempt === attempt);
  const bodies = any ? input.bodies.get(attempt) : NO_BODIES;
  if (!snapshot || !profile || !group || !bodies) return; // what is missing is named already
  await checkContent(
    { row, group, defaults: profile.defaults, method: methodOf(snapshot), bodies, persistence: profile.persistence },
    name,
    differences,
  );
}
