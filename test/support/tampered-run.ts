import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { loadProfile } from '../../src/adapters/profiles/load-profile.ts';
import { type App, createApp } from '../../src/app.ts';
import { envelope } from '../../src/contract/agent.ts';
import type { Claim, EvidenceRow, RunRow } from '../../src/contract/store.ts';
import { executionContent } from '../../src/core/evidence.ts';
import { materializeWindow } from '../../src/engine/materialize.ts';
import { planRun } from '../../src/engine/plan.ts';
import { createRun, findRun } from '../../src/engine/run.ts';
import { Worker } from '../../src/engine/worker.ts';
import { canonicalJson } from '../../src/lib/canonical-json.ts';
import { thisProcess } from '../../src/lib/host.ts';
import { newId } from '../../src/lib/id.ts';
import { writeProject } from './tampered-profile.ts';

/** A project with one run of each end, made by the real engine and lying still; `triggers` are dropped from its store. */
export interface TamperedProject {
  readonly folder: string;
  readonly store: string;
  readonly artifacts: string;
  readonly runs: {
    readonly completed: RunRow;
    readonly running: RunRow;
    readonly cancelled: RunRow;
    readonly failed: RunRow;
  };
}

const GHOST_LEASE_MS = 60_000;

/**
 * Makes the project. Its completed run has 12 cases × 2: passes, fails, an agent's failure, an evaluator that erred once, an
 * attempt that went stale with late evidence before and after the run's end, bodies in artifacts, clusters and tags.
 */
export async function makeTamperedProject(folder: string): Promise<TamperedProject> {
  writeProject(folder);
  await using app = await createApp({ cwd: folder, environment: {} });
  const completed = await completedRun(app, folder);
  const cancelled = await cancelledRun(app, folder);
  const failed = await failedRun(app, folder);
  const running = await runningRun(app, folder);
  return {
    folder,
    store: app.places.store,
    artifacts: app.places.artifacts,
    runs: {
      completed: await findRun(app.store, completed),
      running: await findRun(app.store, running),
      cancelled: await findRun(app.store, cancelled),
      failed: await findRun(app.store, failed),
    },
  };
}

/** Drops every trigger of a store file, as somebody who alters it would. */
export function dropTriggers(file: string): void {
  const db = new DatabaseSync(file);
  const triggers = db.prepare("select name from sqlite_schema where type = 'trigger'").all() as { name: string }[];
  for (const { name } of triggers) db.exec(`drop trigger ${name}`);
  db.exec('pragma wal_checkpoint(truncate)');
  db.close();
}

async function completedRun(app: App, folder: string): Promise<string> {
  const runId = await createTamperedRun(app, folder, 'verify-all');
  const ghost = await openGhost(app);
  await materializeWindow(app.store, app.artifacts, await findRun(app.store, runId));
  const claims = await app.store.claim({
    session_id: ghost,
    run_ids: [runId],
    capacity: 2,
    lease_ms: GHOST_LEASE_MS,
    ahead: 0,
    max_losses: 5,
  });
  await app.store.reap({ dead_sessions: [ghost], limit: 10, max_losses: 5, backoff: { base_ms: 0, cap_ms: 0 } });
  const late: EvidenceRow[] = [
    { kind: 'envelope', body: '', artifact: await app.artifacts.put(canonicalJson({ envelope: 'l'.repeat(17_000) })) },
  ];
  await completeAsGhost(app, claims[0], late);
  await workOff(app, runId);
  await app.store.appendEvidence(taken(claims[1]), [{ kind: 'envelope', body: '{"envelope":null}', artifact: null }]);
  return runId;
}

async function cancelledRun(app: App, folder: string): Promise<string> {
  const { runId } = await startedByGhost(app, folder, 'verify-cancelled', async (ghost, claims) => {
    await app.store.complete(failing(taken(claims[0])));
    await app.store.fail(retrying(taken(claims[1])));
    await app.store.requestCancel(taken(claims[0]).run_id, 'no longer wanted');
    await app.store.complete(cancelling(taken(claims[2])));
    await app.store.sweepCancelled(taken(claims[0]).run_id, 500);
    await app.store.closeSession(ghost);
  });
  return runId;
}

async function failedRun(app: App, folder: string): Promise<string> {
  const { runId } = await startedByGhost(app, folder, 'verify-failed', async (ghost, claims) => {
    await app.store.complete(failing(taken(claims[0])));
    await app.store.release(taken(claims[1]));
    await app.store.failRun(taken(claims[0]).run_id, 'the plan was lost');
    await app.store.closeSession(ghost);
  });
  return runId;
}

/** A run with an ended execution, one that waits for a retry, one in hand with evidence, and the rest pending. */
async function runningRun(app: App, folder: string): Promise<string> {
  const { runId } = await startedByGhost(app, folder, 'verify-running', async (_ghost, claims) => {
    await app.store.complete(failing(taken(claims[0])));
    await app.store.fail(retrying(taken(claims[1])));
    const body = canonicalJson({
      envelope: envelope({ text: 'in hand' }),
      content: null,
      latency_ms: 1,
      reused: false,
    });
    await app.store.appendEvidence(taken(claims[2]), [{ kind: 'envelope', body, artifact: null }]);
  });
  return runId;
}

async function startedByGhost(
  app: App,
  folder: string,
  runKey: string,
  act: (ghost: string, claims: readonly Claim[]) => Promise<void>,
): Promise<{ runId: string }> {
  const runId = await createTamperedRun(app, folder, runKey);
  const ghost = await openGhost(app);
  await materializeWindow(app.store, app.artifacts, await findRun(app.store, runId));
  const claims = await app.store.claim({
    session_id: ghost,
    run_ids: [runId],
    capacity: 3,
    lease_ms: GHOST_LEASE_MS,
    ahead: 0,
    max_losses: 5,
  });
  await act(ghost, claims);
  return { runId };
}

async function completeAsGhost(app: App, claim: Claim | undefined, evidence: readonly EvidenceRow[]): Promise<void> {
  const answer = await app.store.complete({
    ...ending(taken(claim)),
    attempt_status: 'completed',
    status: 'completed',
    fault: null,
    reason: null,
    evidence,
  });
  if (answer !== 'fenced') throw new Error(`the ghost's completion was ${answer}`);
}

function failing(claim: Claim) {
  const aggregate = { passed: false, score: 0, dimensions: { correctness: 0, style: 0 }, blocking_failures: [] };
  const end = { status: 'failed', fault: 'agent' } as const;
  const content = executionContent({ ...end, envelope: null, evaluator_results: [], aggregate });
  return {
    ...ending(claim),
    ...end,
    attempt_status: 'failed_agent_call',
    reason: 'exit_code',
    aggregate: canonicalJson(aggregate),
    content,
    evidence: [failure('agent', 'exit_code')],
  } as const;
}

function cancelling(claim: Claim) {
  return {
    ...ending(claim),
    attempt_status: 'cancelled',
    status: 'cancelled',
    fault: 'cancelled',
    reason: 'run_cancelled',
  } as const;
}

function retrying({ run_id, ordinal, attempt, lease_id }: Claim) {
  const end = { attempt_status: 'failed_agent_call', fault: 'infrastructure', reason: 'connection_refused' } as const;
  const evidence = [failure('infrastructure', 'connection_refused')];
  return { run_id, ordinal, attempt, lease_id, ...end, delay_ms: 3_600_000, evidence };
}

function ending({ run_id, ordinal, attempt, lease_id }: Claim) {
  const content = executionContent({
    status: 'cancelled',
    fault: 'cancelled',
    envelope: null,
    evaluator_results: [],
    aggregate: null,
  });
  return { run_id, ordinal, attempt, lease_id, aggregate: null, passed: false, content, evidence: [] } as const;
}

function failure(fault: string, code: string): EvidenceRow {
  const body = canonicalJson({
    fault,
    code,
    message: 'it failed',
    timed_out: false,
    retry_after_ms: null,
    evidence: null,
  });
  return { kind: 'failure', body, artifact: null };
}

function taken(claim: Claim | undefined): Claim {
  if (claim === undefined) throw new Error('nothing was claimed');
  return claim;
}

async function openGhost(app: App): Promise<string> {
  const session_id = newId('wse', app.clock.now());
  await app.store.openSession({ ...thisProcess(), session_id, worker: 'ghost' });
  return session_id;
}

/** Plans and creates a run; each has its own seed, and with it its own snapshot. */
export async function createTamperedRun(app: App, folder: string, runKey: string): Promise<string> {
  const { profile: written, base_dir } = await loadProfile('profile.yaml', folder);
  const profile = { ...written, seed: runKey.length };
  const dataset = { path: path.join(folder, 'cases.jsonl'), shown_path: 'cases.jsonl', fields: {} };
  const select = { tags_any: [], cases: [], limit: null };
  const signal = new AbortController().signal;
  const plan = await planRun(app.plugins, app.artifacts, { profile, base_dir, dataset, select, signal });
  const { run_id } = await createRun(app, plan, {
    run_key: runKey,
    base_dir,
    created_by: app.principal,
    concurrency: null,
  });
  return run_id;
}

/** Works on a run until it has ended. */
export async function workOff(app: App, runId: string): Promise<void> {
  const worker = new Worker(app, {
    name: 'worker',
    run_ids: [runId],
    concurrency: 8,
    lease_ms: 30_000,
    base_dir: null,
    drain: new AbortController().signal,
    drain_ms: 0,
    notice: (message) => {
      throw new Error(message);
    },
  });
  await worker.run();
}
