import { strict as assert } from 'node:assert';
import fc from 'fast-check';
import type { Store, ToolRunRow } from '../../src/contract/store.ts';
import { FakeClock, plain } from './store-fixture.ts';
import { answerTo, decideBy, endOf, failedEnd, newToolRun, prepareGateway, requestBy, WRITE } from './store-gateway.ts';
import { GatewayModel, MOST_CALLS, type ModelCall, type Outcome } from './store-gateway-model.ts';

const EXPIRES_MS = 100;
const effect = fc.constantFrom('allow' as const, 'ask' as const, 'ask' as const, 'deny' as const, 'error' as const);
const session = fc.constantFrom('wse_g1', 'wse_g2');
const pick = fc.nat(9);
const often = fc.constantFrom(true, true, true, false);

const begin = fc.record({
  type: fc.constant('begin' as const),
  effect,
  session,
  key: fc.constantFrom(null, null, null, 'k1', 'k2'),
});
const answer = fc.record({
  type: fc.constant('answer' as const),
  pick,
  decision: fc.constantFrom('approve' as const, 'approve' as const, 'deny' as const),
  may: fc.boolean(),
  same: fc.boolean(),
});
const edit = fc.record({
  type: fc.constant('edit' as const),
  pick,
  effect: fc.constantFrom('ask', 'ask', 'deny', 'error'),
  may: often,
  expires_ms: fc.constantFrom(EXPIRES_MS, EXPIRES_MS, 0),
});
const consume = fc.record({
  type: fc.constant('consume' as const),
  pick,
  effect: fc.oneof(fc.constant('ask' as const), effect),
  session,
});
const finish = fc.record({
  type: fc.constant('finish' as const),
  pick,
  status: fc.constantFrom('ok', 'error', 'timeout'),
  session,
});
const wait = fc.record({ type: fc.constant('wait' as const), ms: fc.constantFrom(1, 40, EXPIRES_MS - 1, EXPIRES_MS) });

/** One act of somebody on the gateway; mostly calls, and what becomes of them. */
const act = fc.oneof(
  { weight: 10, arbitrary: begin },
  { weight: 4, arbitrary: answer },
  { weight: 6, arbitrary: fc.record({ type: fc.constant('approve' as const), pick }) },
  { weight: 4, arbitrary: edit },
  { weight: 8, arbitrary: consume },
  { weight: 5, arbitrary: finish },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('cancel' as const), pick }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('expire' as const) }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('reap' as const), session }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('switch' as const), on: often }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('pin' as const), on: often }) },
  { weight: 3, arbitrary: wait },
);
type Act = typeof act extends fc.Arbitrary<infer T> ? T : never;

/** Draws sequences of acts and holds store and model together; rejects with seed and sequence at the first difference. Answers what was met. */
export async function checkGateway(options: {
  readonly runs: number;
  readonly seed: number;
  /** Report the first failure as it was drawn, without making it smaller. */
  readonly quick?: boolean;
  readonly open: (clock: FakeClock) => Store;
}): Promise<ReadonlySet<string>> {
  const seen = new Set<string>();
  const property = fc.asyncProperty(fc.array(act, { minLength: 20, maxLength: 40 }), async (acts) => {
    const clock = new FakeClock();
    const store = options.open(clock);
    try {
      await prepareGateway(store);
      const check = new Check(store, clock);
      for (const one of acts) for (const outcome of await check.act(one)) seen.add(`${one.type}: ${outcome}`);
      await check.compare();
    } finally {
      await store.close();
    }
  });
  const { runs, seed, quick = false } = options;
  await fc.assert(property, { numRuns: runs, seed, endOnFailure: quick });
  return seen;
}

/** One store beside its model. */
class Check {
  readonly #store: Store;
  readonly #clock: FakeClock;
  readonly #model = new GatewayModel();

  constructor(store: Store, clock: FakeClock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Does the act to both and compares the answers, and the call that it was about; answers how it came out. */
  async act(one: Act): Promise<string[]> {
    const model = this.#model;
    const call = 'pick' in one ? model.calls[one.pick % Math.max(1, model.calls.length)] : undefined;
    if ('pick' in one && call === undefined) return [];
    const [expected, found] = await this.#both(one, call as ModelCall);
    assert.equal(found, expected, `${JSON.stringify(one)} on ${call?.id}`);
    if (call !== undefined) await this.#compareCall(call);
    return [word(expected)];
  }

  async #both(one: Act, call: ModelCall): Promise<[Outcome, Outcome]> {
    const [store, model, now] = [this.#store, this.#model, this.#clock.now()];
    switch (one.type) {
      case 'begin': {
        const run = newToolRun(now, { idempotency_key: one.key });
        const decide = decideBy(one.effect, { terms: { expires_ms: EXPIRES_MS } });
        const begun = await store.beginToolRun(run, this.#request(decide, one.session));
        const { tool_run_id, status } = begun.run;
        const outcome = begun.created ? status : `known ${tool_run_id}`;
        return [model.begin(run.tool_run_id, one.effect, one.key, one.session, now, EXPIRES_MS), outcome];
      }
      case 'answer':
      case 'approve': {
        const { decision, may, same } =
          one.type === 'answer' ? one : { decision: 'approve' as const, may: true, same: true };
        const row = await this.#row(call);
        const answer = await store.answerApproval(this.#answer(row, decision, may, same));
        const found = answer.type === 'answered' ? 'answered' : answer.code;
        return [model.answer(call, decision, may, same, now), found];
      }
      case 'edit': {
        const row = await this.#row(call);
        const next = newToolRun(now, { arguments: '{"text":"changed"}', edited_from: call.id });
        const { effect: comes, expires_ms } = one;
        const decide = decideBy(comes as 'ask', { terms: { expires_ms } });
        const answer = await store.editToolRun(
          this.#answer(row, 'approve', one.may, true),
          next,
          this.#request(decide),
        );
        const found = answer.type === 'answered' ? 'answered' : answer.code;
        return [model.edit(call, next.tool_run_id, comes as 'ask', one.may, now, expires_ms), found];
      }
      case 'consume': {
        const used = await store.consumeApproval(call.id, this.#request(decideBy(one.effect), one.session));
        return [model.consume(call, one.effect, one.session, now), String(used)];
      }
      case 'finish': {
        const { session: session_id, status } = one;
        const end =
          status === 'ok' ? endOf(call.id, { session_id }) : failedEnd(call.id, status as 'error', { session_id });
        return [model.finish(call, status, session_id), (await store.finishToolRun(end)) === null ? 'late' : 'written'];
      }
      case 'cancel': {
        const done = await store.cancelToolRun(call.id, 'cancelled', 'no more', 'human:bob');
        return [model.cancel(call, 'cancelled'), String(done)];
      }
      case 'expire':
        return [model.expire(now), String(await store.expireApprovals(99))];
      case 'reap':
        return [model.reap(one.session), (await store.reapToolRuns([one.session], 99)).sort().join(' ')];
      case 'switch':
        await store.switchTool('notes', !one.on, 'a drill', 'human:ann');
        model.off = !one.on;
        return ['done', 'done'];
      case 'pin':
        await store.pinTool('notes', 'write', one.on ? WRITE.digest : null, 'human:ann');
        model.pin(one.on);
        return ['done', 'done'];
      case 'wait':
        this.#clock.advance(one.ms);
        return ['done', 'done'];
    }
  }

  /** At the end: every call, every event, and the store's own look at itself. */
  async compare(): Promise<void> {
    const all = { after: null, limit: 10_000 };
    const rows = await this.#store.toolRuns({}, all);
    assert.deepEqual(rows.map((row) => row.tool_run_id).sort(), this.#model.calls.map((call) => call.id).sort());
    for (const call of this.#model.calls) {
      await this.#compareCall(call);
      const events = await this.#store.gatewayEvents({ tool_run_id: call.id }, all);
      assert.equal(events.filter((event) => event.type === 'tool_dispatched').length, call.dispatches);
      assert.ok(call.dispatches <= 1, `${call.id} was dispatched ${call.dispatches} times`);
    }
    assert.deepEqual(plain(await this.#store.invariants()), []);
  }

  async #compareCall(call: ModelCall): Promise<void> {
    const row = await this.#row(call);
    const approval = row.approval_id === null ? null : await this.#store.approval(row.approval_id);
    assert.deepEqual(
      [row.status, row.reason, row.dispatched_at !== null, approval?.status, approval?.decided_by],
      [call.status, call.reason, call.dispatches > 0, call.approval?.status, call.approval?.by],
      call.id,
    );
  }

  async #row(call: ModelCall): Promise<ToolRunRow> {
    const row = await this.#store.toolRun(call.id);
    if (row === null) throw new Error(`${call.id} is gone`);
    return row;
  }

  #answer({ approval_id, call_digest }: ToolRunRow, decision: 'approve' | 'deny', may: boolean, same: boolean) {
    const shown = { approval_id: approval_id ?? 'apr_none', call_digest: same ? call_digest : 'f'.repeat(64) };
    return answerTo(shown, { decision, roles: may ? ['operator'] : ['viewer'] });
  }

  #request(decide: ReturnType<typeof decideBy>, session_id = 'wse_g1') {
    const limits = [{ id: 'few', key: '["few"]', window_ms: null, calls: MOST_CALLS, cost_micro_usd: null }];
    return requestBy(decide, { limits, session_id });
  }
}

function word(outcome: Outcome): string {
  if (outcome.startsWith('known ')) return 'known';
  return outcome.startsWith('trn_') ? 'some' : outcome;
}
