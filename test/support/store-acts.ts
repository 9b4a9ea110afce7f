import assert from 'node:assert/strict';
import type { AttemptEnd, Fault, TerminalStatus } from '../../src/contract/state.ts';
import type { Claim, Completion, EvidenceRow, Fence, Store } from '../../src/contract/store.ts';
import { completion, envelope, type FakeClock, failureRow, finding, plain, planned } from './store-fixture.ts';
import { LOSS_BACKOFF } from './store-harness.ts';
import type { StoreModel } from './store-model.ts';
import { predictClaim } from './store-model-claim.ts';

/** The runs that a model starts with, and its worker sessions. */
export const RUN_IDS = ['run_a', 'run_b'] as const;
export const SESSION_IDS = ['wse_1', 'wse_2', 'wse_3'] as const;

const VERDICT = {
  gate_status: 'pass',
  verdict: '{}',
  content_digest: 'c'.repeat(64),
  merkle_root: 'd'.repeat(64),
} as const;

/** The store under test with its clock; `seen` notes which answers were met. */
export interface Real {
  readonly store: Store;
  readonly clock: FakeClock;
  readonly seen: Set<string>;
}

/** What the store answered, what the model answers, and (where it is not the answer itself) what was met. */
export type Answers = readonly [real: unknown, expected: unknown, met?: string];

/** An evidence row that no other is like. */
export function fresh(model: StoreModel, kind: 'envelope' | 'finding' | 'failure'): EvidenceRow {
  model.serial += 1;
  const text = `row ${model.serial}`;
  return kind === 'envelope' ? envelope(text) : kind === 'failure' ? failureRow(text) : finding(text);
}

const ENDS: readonly (readonly [AttemptEnd, TerminalStatus, Fault | null])[] = [
  ['completed', 'completed', null],
  ['failed_agent_call', 'failed', 'agent'],
  ['timed_out', 'timed_out', 'agent'],
  ['failed_agent_call', 'failed', 'infrastructure'],
  ['cancelled', 'cancelled', 'cancelled'],
];

/** A completion of one of the ways that an execution may end in. */
export function completing(model: StoreModel, fence: Fence, end: number, passed: boolean): Completion {
  const [attempt_status, status, fault] = ENDS[end] ?? assert.fail('no such end');
  const evidence =
    status === 'completed' ? [fresh(model, 'envelope'), fresh(model, 'finding')] : [fresh(model, 'failure')];
  const aggregate = status === 'completed' ? '{"score":1}' : null;
  const content = `content ${model.serial}`;
  return completion(fence, {
    attempt_status,
    status,
    fault,
    aggregate,
    content,
    evidence,
    passed: passed && status === 'completed',
  });
}

/** Claims, and asserts that the lease is new. */
export async function claim(
  model: StoreModel,
  { store }: Real,
  args: {
    session: string;
    runs: string[] | null;
    capacity: number;
    ahead: number;
    lease_ms: number;
    max_losses: number;
  },
): Promise<Answers> {
  const request = {
    session_id: args.session,
    run_ids: args.runs,
    capacity: args.capacity,
    ahead: args.ahead,
    lease_ms: args.lease_ms,
    max_losses: args.max_losses,
  };
  const claims = await store.claim(request);
  const leases = new Map(claims.map((one) => [one.run_id, one.lease_id]));
  for (const lease of leases.values())
    assert.ok(!model.tokens.some((one) => one.lease_id === lease), `lease ${lease} was given before`);
  const expected = predictClaim(model, request, leases);
  const order = (one: Fence) => `${one.run_id} ${one.ordinal}`;
  const sorted = <T extends Fence>(all: readonly T[]) => all.toSorted((a, b) => (order(a) < order(b) ? -1 : 1));
  return [
    sorted(claims),
    sorted(expected),
    claims.length === 0
      ? 'none'
      : claims.some((one) => one.kept.length > 0)
        ? 'kept'
        : alone(claims, args.max_losses)
          ? 'alone'
          : 'some',
  ];
}

function alone([claim]: readonly Claim[], maxLosses: number): boolean {
  return claim !== undefined && claim.failures.lease >= maxLosses && maxLosses > 0;
}

/** Brings a run near its end, so that short sequences reach finalization, cancellation and failure with work in hand too. */
export async function workOff(
  model: StoreModel,
  real: Real,
  args: { run: string; interrupt: 'none' | 'cancel' | 'fail' | 'expire' },
): Promise<Answers> {
  const { store, clock } = real;
  const run = model.run(args.run);
  const from = run.executions.length;
  const rows = planned(from, run.total - from);
  assert.equal(await store.materialize(args.run, from, rows), model.materialize(args.run, from, rows));
  for (const session of SESSION_IDS) {
    const [claims, expected] = await claim(model, real, {
      session,
      runs: [args.run],
      capacity: 4,
      ahead: 0,
      lease_ms: 100,
      max_losses: 2,
    });
    assert.deepEqual(plain(claims), plain(expected));
  }
  if (args.interrupt === 'cancel')
    assert.equal(await store.requestCancel(args.run, 'enough'), model.requestCancel(args.run, 'enough'));
  if (args.interrupt === 'fail')
    assert.equal(await store.failRun(args.run, 'broken'), model.failRun(args.run, 'broken'));
  if (args.interrupt === 'fail' || args.interrupt === 'expire') {
    // To the very end of the lease, when the reaper must not take it yet; past it, when the run is over and it must not either.
    const ms = args.interrupt === 'fail' ? 101 : 100;
    clock.advance(ms);
    model.tick(ms);
    const [taken, expected] = await reap(model, real, { dead: [], limit: 4, max_losses: 1 });
    assert.deepEqual(plain(taken), plain(expected));
  }
  const held = run.queued('running').map((item) => item.ordinal);
  for (const ordinal of held) {
    const fence = model.tokens.findLast((one) => one.run_id === args.run && one.ordinal === ordinal) ?? assert.fail();
    const write = completing(model, fence, 0, true);
    assert.equal(await store.complete(write), model.complete(write));
  }
  assert.equal(await store.beginFinalize(args.run), model.beginFinalize(args.run));
  if (args.interrupt === 'none') return finalize(model, real, args.run);
  return [0, 0];
}

/** Takes all leases of a session, waits, and claims twice for another: what was lost is on its last try. */
export async function loseAndClaim(
  model: StoreModel,
  real: Real,
  args: { lost: string; session: string; capacity: number; wait: number; lease_ms: number },
): Promise<Answers> {
  const { lost, session, capacity, wait, lease_ms } = args;
  const asked = { runs: null, capacity, ahead: 0, lease_ms };
  const answers = [
    await claim(model, real, { ...asked, session: lost, capacity: 2, max_losses: 5 }),
    await reap(model, real, { dead: [lost], limit: 4, max_losses: 5 }),
  ];
  real.clock.advance(wait);
  model.tick(wait);
  answers.push(await claim(model, real, { ...asked, session, max_losses: 1 }));
  answers.push(await claim(model, real, { ...asked, session, max_losses: 1 }));
  for (const [answer, expected] of answers) assert.deepEqual(plain(answer), plain(expected));
  return answers.find((answer) => answer[2] === 'alone') ?? [0, 0, 'other'];
}

/** Two finalizers at once: one of them at most is the first. */
export async function finalize(model: StoreModel, { store }: Real, id: string): Promise<Answers> {
  const answers = await Promise.all([store.finalize(id, VERDICT), store.finalize(id, VERDICT)]);
  return [answers, [model.finalize(id), model.finalize(id)]];
}

/** Reaps; which leases are taken first is the store's choice. */
export async function reap(
  model: StoreModel,
  { store }: Real,
  args: { dead: readonly string[]; limit: number; max_losses: number },
): Promise<Answers> {
  const request = { dead_sessions: args.dead, limit: args.limit, max_losses: args.max_losses, backoff: LOSS_BACKOFF };
  const allowed = model.reapable(request);
  const taken = await store.reap(request);
  assert.equal(taken.length, Math.min(args.limit, allowed.length), 'as many as may be taken, up to the limit');
  const expected = taken.map(({ ended: _ended, ...one }) => {
    const may = allowed.some((other) => JSON.stringify(other) === JSON.stringify(one));
    assert.ok(may, `${JSON.stringify(one)} may not be taken`);
    return model.reap(one, request);
  });
  model.buryDead(args.dead);
  return [taken, expected, taken.some((one) => one.ended) ? 'ended' : taken.length > 0 ? 'taken' : 'none'];
}
