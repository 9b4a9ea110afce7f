import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { type App, createApp } from '../../src/app.ts';
import { envelope } from '../../src/contract/agent.ts';
import type { Claim, RunRow } from '../../src/contract/store.ts';
import { correctGrade } from '../../src/engine/corrections.ts';
import { materializeWindow } from '../../src/engine/materialize.ts';
import { findRun } from '../../src/engine/run.ts';
import { canonicalJson } from '../../src/lib/canonical-json.ts';
import { thisProcess } from '../../src/lib/host.ts';
import { answerTo, type CallChange, decideBy, endOf, newToolRun, prepareGateway, requestBy } from './store-gateway.ts';
import { createTamperedRun, workOff } from './tampered-run.ts';

/** A project whose store has rows in every table, made by the real engine and lying still. */
export interface CheckedProject {
  readonly store: string;
  readonly artifacts: string;
  /** A run with tool calls, a lost lease, budgets, webhooks, corrections and a blessing. */
  readonly completed: RunRow;
  /** Another run of the same profile, to compare with. */
  readonly other: RunRow;
  /** A run in progress: with an execution that is leased and one that waits for a retry. */
  readonly running: RunRow;
}

export async function makeCheckedProject(folder: string): Promise<CheckedProject> {
  const cases = ['a', 'b', 'c', 'd'].map((id) => ({
    id,
    task_type: 'words',
    input: id,
    expected: id === 'd' ? 'no' : id,
    tags: ['letter'],
    cluster: `k${id}`,
  }));
  writeFileSync(path.join(folder, 'cases.jsonl'), cases.map((item) => `${JSON.stringify(item)}\n`).join(''));
  writeFileSync(
    path.join(folder, 'agent.mjs'),
    'export default async ({ case: { input } }) => ({ text: input, usage: { total_tokens: 7, cost_micro_usd: 3 } });\n',
  );
  writeFileSync(path.join(folder, 'profile.yaml'), PROFILE);
  await using app = await createApp({ cwd: folder, environment: { HOOK: 'a secret of a webhook' } });
  await prepareGateway(app.store);
  await callOutside(app);
  const completed = await completedRun(app, folder, 'checked', true);
  const other = await completedRun(app, folder, 'another one', false);
  const running = await runningRun(app, folder);
  await bless(app, [other, completed]);
  await deliver(app);
  return {
    store: app.places.store,
    artifacts: app.places.artifacts,
    completed: await findRun(app.store, completed),
    other: await findRun(app.store, other),
    running: await findRun(app.store, running),
  };
}

const PROFILE = `profile_id: checked
profile_version: 1.0.0
agent: { kind: module, name: words, version: 1.0.0, provider: acme, module: { path: agent.mjs } }
limits: { execution: { tokens: 50 }, run: { tokens: 100000 } }
case_groups:
  - id: words
    applies_to: { task_type: words }
    evaluators: [{ ref: exact_match@1, dimension: correctness }]
gate: { min_cases: 1, all: [{ metric: pass_rate, bound: point, min: 0.5 }] }
webhooks:
  - { url: 'https://one.example/hook', secret: '\${secret:HOOK}', events: [run_completed] }
  - { url: 'https://two.example/hook', secret: '\${secret:HOOK}', events: [run_completed] }
`;

async function completedRun(app: App, folder: string, key: string, eventful: boolean): Promise<string> {
  const runId = await createTamperedRun(app, folder, key);
  if (eventful) {
    const ghost = `wse_ghost_${key}`;
    const [claim] = await claimed(app, runId, ghost, 1);
    if (claim === undefined) throw new Error('nothing was claimed');
    const { run_id, ordinal, attempt, lease_id } = claim;
    await callTools(app, { fence: { run_id, ordinal, attempt, lease_id } });
    await app.store.reap({ dead_sessions: [ghost], limit: 10, max_losses: 5, backoff: { base_ms: 0, cap_ms: 0 } });
    const body = canonicalJson({ envelope: envelope({ text: 'late' }), content: null, latency_ms: 1, reused: false });
    await app.store.appendEvidence(claim, [{ kind: 'envelope', body, artifact: null }]);
  }
  await workOff(app, runId);
  if (eventful)
    for (const case_id of ['d', 'a'])
      await correctGrade(
        app,
        await findRun(app.store, runId),
        {
          case_id,
          repeat: 1,
          evaluator: 0,
          status: case_id === 'd' ? 'passed' : 'failed',
          score: null,
          reason: 'seen',
        },
        'human:ann',
      );
  return runId;
}

async function runningRun(app: App, folder: string): Promise<string> {
  const runId = await createTamperedRun(app, folder, 'in progress for now');
  const [first] = await claimed(app, runId, 'wse_ghost_running', 2);
  if (first === undefined) throw new Error('nothing was claimed');
  const { run_id, ordinal, attempt, lease_id } = first;
  const end = { attempt_status: 'failed_agent_call', fault: 'infrastructure', reason: 'connection_refused' } as const;
  await app.store.fail({ run_id, ordinal, attempt, lease_id, ...end, delay_ms: 3_600_000, evidence: [] });
  return runId;
}

async function claimed(app: App, runId: string, session_id: string, capacity: number): Promise<Claim[]> {
  await app.store.openSession({ ...thisProcess(), session_id, worker: 'ghost' });
  await materializeWindow(app.store, app.artifacts, await findRun(app.store, runId));
  return await app.store.claim({ session_id, run_ids: [runId], capacity, lease_ms: 60_000, ahead: 0, max_losses: 5 });
}

async function callOutside(app: App): Promise<void> {
  await app.store.switchTool('others', true, 'not needed', 'human:ann');
  const limits = [{ id: 'many', key: '["many"]', window_ms: 60_000, calls: 99, cost_micro_usd: null }];
  const { run } = await app.store.beginToolRun(newToolRun(app.clock.now()), requestBy(decideBy('allow'), { limits }));
  await app.store.finishToolRun(endOf(run.tool_run_id));
}

/** A call that was allowed, one that was approved and carried out, one that was refused. */
async function callTools({ store, clock }: App, change: CallChange): Promise<void> {
  const told = { idempotency_key: 'once', caused_by: 'evt_1', trace_id: 'trace', ...change };
  const allowed = await store.beginToolRun(newToolRun(clock.now(), told), requestBy(decideBy('allow')));
  await store.requestToolCancel(allowed.run.tool_run_id, 'no longer wanted', 'human:ann');
  await store.finishToolRun(endOf(allowed.run.tool_run_id));
  await store.deliverToolRun(allowed.run.tool_run_id);
  for (const decision of ['approve', 'deny'] as const) {
    const call = newToolRun(clock.now(), { ...change, arguments: `{"text":"${decision}"}` });
    const { run } = await store.beginToolRun(call, requestBy(decideBy('ask')));
    const asked = { approval_id: run.approval_id ?? '', call_digest: call.call_digest };
    await store.answerApproval(answerTo(asked, { decision, comment: 'seen' }));
    if (decision === 'deny') continue;
    await store.consumeApproval(run.tool_run_id, requestBy(decideBy('ask')));
    await store.finishToolRun(endOf(run.tool_run_id));
  }
}

async function bless({ store }: App, runIds: readonly string[]): Promise<void> {
  for (const runId of runIds) await store.bless('checked', runId, 'human:ann');
}

async function deliver({ store }: App): Promise<void> {
  for (const [index, { outbox_no, endpoint, lease_id }] of (await store.claimDeliveries(2, 60_000)).entries())
    await store.settleDelivery(
      index === 0
        ? { outbox_no, endpoint, lease_id, decision: { type: 'published' }, status: 200, error: null }
        : {
            outbox_no,
            endpoint,
            lease_id,
            decision: { type: 'retry', wait_ms: 60_000, endpoint_wait_ms: 0 },
            status: 500,
            error: 'it answered 500',
          },
    );
}
