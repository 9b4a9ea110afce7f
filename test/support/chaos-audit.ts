import type { App } from '../../src/app.ts';
import type { AttemptRow, ExecutionRow, LateRow, RunRow } from '../../src/contract/store.ts';
import { allExecutions } from '../../src/engine/all-executions.ts';
import { verifyRun } from '../../src/engine/verify/verify-run.ts';

/** What an undisturbed run came to; every disturbed one must come to the same bytes. */
export interface Reference {
  readonly verdict: string;
  readonly content_digest: string;
}

/** What a run's evidence shows of the disturbance, and everything that is wrong. */
export interface Audit {
  /** Attempts that lost their lease. */
  readonly reaped: number;
  /** Completions that were refused because the lease was lost. */
  readonly late_completions: number;
  /** Appends of evidence that were refused because the lease was lost. */
  readonly late_evidence: number;
  readonly attempts: number;
  /** Most leases that one execution lost. */
  readonly most_losses: number;
  readonly violations: readonly string[];
}

/** The verdict and content digest of a run that was not disturbed; throws when it did not complete in one attempt each. */
export async function referenceOf(app: App, runId: string): Promise<Reference> {
  const run = await runOf(app, runId);
  const { verdict, content_digest } = run;
  if (verdict === null || content_digest === null)
    throw new Error(`the undisturbed run is ${run.status}: ${run.reason ?? 'no reason'}`);
  const audit = await auditRun(app, runId, { verdict, content_digest });
  if (audit.violations.length > 0) throw new Error(`the undisturbed run is not sound: ${audit.violations.join('; ')}`);
  if (audit.attempts !== run.total)
    throw new Error(`the undisturbed run took ${audit.attempts} attempts for ${run.total} executions`);
  return { verdict, content_digest };
}

/** Holds an ended run against the reference, the store's invariants and its own evidence. */
export async function auditRun(app: App, runId: string, reference: Reference): Promise<Audit> {
  const { store } = app;
  const run = await runOf(app, runId);
  const violations: string[] = [];
  const expect = (holds: boolean, what: string) => {
    if (!holds) violations.push(what);
  };
  expect(run.status === 'completed', `the run is ${run.status}, not completed: ${run.reason ?? 'no reason'}`);
  expect(run.verdict === reference.verdict, `the verdict differs: ${run.verdict} instead of ${reference.verdict}`);
  expect(
    run.content_digest === reference.content_digest,
    `content_digest is ${run.content_digest} instead of ${reference.content_digest}`,
  );
  for (const { invariant, count, example } of await store.invariants())
    violations.push(`invariant broken ${count} times: ${invariant} (${example})`);
  const verification = await verifyRun(app, run, run.evidence_root);
  for (const { where, row, what, expected, found } of verification.found)
    violations.push(`verify: ${where} ${row} ${what}: ${found} instead of ${expected}`);
  expect(verification.ok, `verify finds ${verification.differences} differences`);
  expect(store.triggerProblems().length === 0, `triggers: ${store.triggerProblems().join(', ')}`);

  const { executions, attempts } = await rowsOf(app, run);
  expect(executions.length === run.total, `${executions.length} executions instead of ${run.total}`);
  for (const row of executions) violations.push(...flawsOf(row, attempts.get(row.ordinal) ?? []));
  const late = await lateOf(app, runId);
  const stale = [...attempts.values()].flat().filter((attempt) => attempt.status === 'stale');
  violations.push(...lateFlaws(late, attempts));
  return {
    reaped: stale.length,
    late_completions: late.filter((row) => row.verb === 'complete').length,
    late_evidence: late.filter((row) => row.verb === 'append_evidence').length,
    attempts: [...attempts.values()].flat().length,
    most_losses: Math.max(
      0,
      ...[...Map.groupBy(stale, (attempt) => attempt.ordinal).values()].map((rows) => rows.length),
    ),
    violations,
  };
}

async function runOf({ store }: App, runId: string): Promise<RunRow> {
  const run = await store.run(runId);
  if (run === null) throw new Error(`there is no run ${runId}`);
  return run;
}

async function rowsOf(
  { store }: App,
  run: RunRow,
): Promise<{ executions: ExecutionRow[]; attempts: Map<number, AttemptRow[]> }> {
  const executions: ExecutionRow[] = [];
  const attempts: AttemptRow[] = [];
  for await (const page of allExecutions(store, run.run_id)) {
    executions.push(...page);
    attempts.push(
      ...(await store.attempts(
        run.run_id,
        page.map((row) => row.ordinal),
      )),
    );
  }
  return { executions, attempts: Map.groupBy(attempts, (attempt) => attempt.ordinal) };
}

/** Exactly one attempt completed, it is the last, the others lost their lease, gave it back, or failed on the way to the agent. */
function flawsOf(row: ExecutionRow, attempts: readonly AttemptRow[]): string[] {
  const name = `case ${row.case_id} #${row.repeat}`;
  const flaws: string[] = [];
  if (row.status !== 'completed')
    flaws.push(`${name} ended ${row.status}, fault ${row.fault}, after ${attempts.length} attempts`);
  attempts.forEach((attempt, index) => {
    const last = index === attempts.length - 1;
    if (attempt.attempt !== index + 1) flaws.push(`${name}: attempt ${attempt.attempt} stands at place ${index + 1}`);
    if (last && (attempt.status !== 'completed' || row.attempt !== attempt.attempt))
      flaws.push(`${name}: its last attempt is ${attempt.status}`);
    if (!last && attempt.fault !== 'infrastructure' && attempt.reason !== 'released') {
      flaws.push(
        `${name}: attempt ${attempt.attempt} ended ${attempt.status} (${attempt.reason}) and another followed`,
      );
    }
  });
  return flaws;
}

async function lateOf({ store }: App, runId: string): Promise<LateRow[]> {
  const rows: LateRow[] = [];
  for (;;) {
    const page = await store.lateEvidence(runId, { after: rows.at(-1)?.late_seq ?? null, limit: 500 });
    rows.push(...page);
    if (page.length < 500) return rows;
  }
}

/** What came too late belongs to an attempt that lost its lease, under that lease. */
function lateFlaws(late: readonly LateRow[], attempts: ReadonlyMap<number, readonly AttemptRow[]>): string[] {
  return late.flatMap((row) => {
    const attempt = attempts.get(row.ordinal)?.find((found) => found.attempt === row.attempt);
    if (attempt?.status === 'stale' && attempt.lease_id === row.lease_id) return [];
    return [
      `late ${row.verb} ${row.late_seq} is of attempt ${row.attempt} of ordinal ${row.ordinal}, which is ${attempt?.status ?? 'missing'}`,
    ];
  });
}
