import type { ArtifactStore } from '../../contract/artifact.ts';
import type { EvaluatorResult } from '../../contract/evaluator.ts';
import { ProctorError } from '../../contract/problem.ts';
import type { Profile } from '../../contract/profile.ts';
import type { PlannedCase } from '../../contract/snapshot.ts';
import type { AttemptRow, EvidenceRecord, ExecutionRow } from '../../contract/store.ts';
import { aggregate, failedAggregate } from '../../core/aggregate.ts';
import { attemptSeal, envelopeContent, evidenceHash, executionContent, resultHash } from '../../core/evidence.ts';
import { canonicalJson } from '../../lib/canonical-json.ts';
import { bodyOf, type EnvelopeBody, type ResultBody } from '../evidence-rows.ts';
import type { Differences } from './differences.ts';

/** Everything that is stored of one execution, with what the plan says of it. */
export interface ExecutionEvidence {
  readonly run_id: string;
  readonly profile: Profile;
  readonly row: ExecutionRow;
  readonly planned: { readonly case: PlannedCase; readonly repeat: number } | null;
  readonly attempts: readonly AttemptRow[];
  readonly evidence: readonly EvidenceRecord[];
}

/** Recomputes one execution from its raw evidence: chain, seals, aggregate, content and result hash. */
export async function checkExecution(
  artifacts: ArtifactStore,
  input: ExecutionEvidence,
  differences: Differences,
): Promise<void> {
  const { row } = input;
  const name = `case ${row.case_id} #${row.repeat}`;
  checkPlan(input, name, differences);
  const byAttempt = Map.groupBy(input.evidence, (record) => record.attempt);
  for (const number of byAttempt.keys()) {
    if (!input.attempts.some((attempt) => attempt.attempt === number))
      differences.add('evidence', `${name} attempt ${number}`, 'evidence of an attempt that is not there');
  }
  let seal = '';
  for (const [index, attempt] of input.attempts.entries()) {
    differences.same('attempt', name, 'attempts are numbered from 1 without a gap', index + 1, attempt.attempt);
    seal = checkAttempt(
      input,
      attempt,
      byAttempt.get(attempt.attempt) ?? [],
      seal,
      `${name} attempt ${attempt.attempt}`,
      differences,
    );
  }
  if (row.hash === null) return; // not ended: the chain is all there is
  const last = input.attempts.at(-1);
  differences.same('result', name, 'attempt', last?.attempt ?? 0, row.attempt);
  const { ordinal, status, fault, aggregate: aggregated, content, finished_at } = row;
  const recomputed = resultHash(seal, {
    run_id: input.run_id,
    ordinal,
    attempt: row.attempt,
    status,
    fault,
    aggregate: aggregated,
    content: content ?? '',
    finished_at: finished_at ?? 0,
  });
  differences.same('result', name, 'the hash of the result', recomputed, row.hash);
  if (last !== undefined && row.fault !== 'cancelled')
    differences.same('result', name, 'the fault is its last attempt’s', last.fault, row.fault);
  await checkContent(artifacts, input, byAttempt.get(row.attempt) ?? [], name, differences);
}

function checkPlan({ row, planned }: ExecutionEvidence, name: string, differences: Differences): void {
  if (planned === null) {
    differences.add('execution', name, 'the plan has no such execution');
    return;
  }
  differences.same('execution', name, 'case_id', planned.case.id, row.case_id);
  differences.same('execution', name, 'repeat', planned.repeat, row.repeat);
  differences.same('execution', name, 'case_content', planned.case.case_content, row.case_content);
  differences.same('execution', name, 'cluster', planned.case.cluster, row.cluster);
}

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
    const at = `${name} seq ${record.seq}`;
    differences.same('evidence', at, 'evidence is numbered from 1 without a gap', index + 1, record.seq);
    const hash = evidenceHash(
      head,
      { run_id, ordinal: record.ordinal, attempt: record.attempt, seq: record.seq },
      record,
    );
    differences.same('evidence', at, 'the hash chain', hash, record.hash);
    head = record.hash;
  }
  if (attempt.ended_at === null) {
    if (input.row.hash !== null)
      differences.add('attempt', name, 'an attempt is open although its execution has ended');
    return '';
  }
  differences.same('attempt', name, 'evidence_count', evidence.length, attempt.evidence_count);
  const seal = attemptSeal(before, head, {
    run_id,
    ordinal: attempt.ordinal,
    attempt: attempt.attempt,
    session_id: attempt.session_id,
    lease_id: attempt.lease_id,
    started_at: attempt.started_at,
    ended_at: attempt.ended_at,
    status: attempt.status,
    reason: attempt.reason,
    fault: attempt.fault,
    evidence_count: attempt.evidence_count ?? 0,
  });
  differences.same('attempt', name, 'the seal', seal, attempt.seal);
  return attempt.seal ?? '';
}

async function checkContent(
  artifacts: ArtifactStore,
  input: ExecutionEvidence,
  evidence: readonly EvidenceRecord[],
  name: string,
  differences: Differences,
): Promise<void> {
  const { row, profile, planned } = input;
  const group = planned === null ? undefined : profile.case_groups[planned.case.group];
  if (group === undefined) return;
  const read = await readBodies(artifacts, evidence, name, differences);
  if (read === null) return;
  if (row.status !== 'completed') {
    const aggregated = row.fault === 'agent' ? failedAggregate(group) : null;
    differences.same(
      'result',
      name,
      'aggregate',
      aggregated === null ? null : canonicalJson(aggregated),
      row.aggregate,
    );
    const content = executionContent({
      status: row.status,
      fault: row.fault,
      envelope: null,
      evaluator_results: [],
      aggregate: aggregated,
    });
    differences.same('result', name, 'content', content, row.content);
    return;
  }
  const { envelope, results } = read;
  if (envelope === null) {
    differences.add('evidence', name, 'a completed execution has no envelope');
    return;
  }
  differences.same('evidence', name, 'one result of every evaluator', group.evaluators.length, results.length);
  const score = aggregate(group, profile.defaults, results);
  differences.same('result', name, 'aggregate', canonicalJson(score), row.aggregate);
  if (envelope.envelope === null) differences.notRecomputable += 1;
  const digest = envelope.envelope === null ? envelope.content : envelopeContent(envelope.envelope);
  const content = executionContent({
    status: 'completed',
    fault: null,
    envelope: digest,
    evaluator_results: results,
    aggregate: score,
  });
  differences.same('result', name, 'content', content, row.content);
}

async function readBodies(
  artifacts: ArtifactStore,
  evidence: readonly EvidenceRecord[],
  name: string,
  differences: Differences,
): Promise<{ envelope: EnvelopeBody | null; results: EvaluatorResult[] } | null> {
  let envelope: EnvelopeBody | null = null;
  const results: EvaluatorResult[] = [];
  for (const record of evidence) {
    const at = `${name} attempt ${record.attempt} seq ${record.seq}`;
    try {
      const body = JSON.parse(await bodyOf(artifacts, record)) as unknown;
      if (record.kind === 'envelope') envelope = body as EnvelopeBody;
      if (record.kind === 'evaluator_result') {
        const { duration_ms: _duration, reused: _reused, ...result } = body as ResultBody;
        results.push(result);
      }
    } catch (error) {
      if (ProctorError.is(error)) differences.add('artifact', at, error.message);
      else if (error instanceof SyntaxError) differences.add('evidence', at, `the body is not JSON: ${error.message}`);
      else throw error;
      return null;
    }
  }
  return { envelope, results };
}
