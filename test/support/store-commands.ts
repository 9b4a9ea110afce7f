import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { Fault } from '../../src/contract/state.ts';
import type { Fence } from '../../src/contract/store.ts';
import {
  type Answers,
  claim,
  completing,
  finalize,
  fresh,
  loseAndClaim,
  type Real,
  RUN_IDS,
  reap,
  SESSION_IDS,
  workOff,
} from './store-acts.ts';
import { plain, planned, retryLater } from './store-fixture.ts';
import type { StoreModel } from './store-model.ts';
import { chosen, type Token, token } from './store-tokens.ts';

type ModelCommand = fc.AsyncCommand<StoreModel, Real>;

const run = fc.constantFrom(...RUN_IDS);
const session = fc.constantFrom(...SESSION_IDS);
const lease_ms = fc.constantFrom(100, 1_000);

/** Every command of the model, with how often it is drawn. */
export function storeCommands(): fc.Arbitrary<Iterable<ModelCommand>> {
  return fc.commands(
    WEIGHTED.flatMap(([weight, arbitrary]) => Array.from({ length: weight }, () => arbitrary)),
    {
      maxCommands: 60,
      size: 'max',
    },
  );
}

const WEIGHTED: readonly (readonly [number, fc.Arbitrary<ModelCommand>])[] = [
  [
    3,
    command(
      'materialize',
      fc.record({ run, count: fc.integer({ min: 0, max: 4 }), shift: fc.constantFrom(0, 0, 0, -1, 1) }),
      async (model, { store }, args) => {
        const from = Math.max(0, model.run(args.run).executions.length + args.shift);
        const count = Math.min(args.count, model.run(args.run).total - from);
        const rows = planned(from, Math.max(0, count));
        return [await store.materialize(args.run, from, rows), model.materialize(args.run, from, rows)];
      },
    ),
  ],
  [
    5,
    command(
      'claim',
      fc.record({
        session,
        runs: fc.option(fc.subarray([...RUN_IDS])),
        capacity: fc.integer({ min: 0, max: 4 }),
        ahead: fc.constantFrom(0, 0, 2),
        lease_ms,
        max_losses: fc.constantFrom(1, 1, 2, 5),
      }),
      claim,
    ),
  ],
  [
    4,
    command(
      'beat',
      fc.record({ session, lease_ms, tokens: fc.array(token, { maxLength: 3 }) }),
      async (model, { store }, args) => {
        const fences = args.tokens.flatMap((one) => chosen(model, one) ?? []);
        const sorted = ({ lost, cancelled_runs }: { lost: readonly Fence[]; cancelled_runs: readonly string[] }) => ({
          lost,
          cancelled_runs: cancelled_runs.toSorted(),
        });
        const answer = sorted(await store.heartbeat(args.session, args.lease_ms, fences));
        return [
          answer,
          sorted(model.heartbeat(args.session, args.lease_ms, fences)),
          answer.lost.length > 0 ? 'lost' : 'extended',
        ];
      },
    ),
  ],
  [
    2,
    fenced(
      'evidence',
      fc.record({ token, rows: fc.integer({ min: 0, max: 3 }), again: fc.boolean() }),
      async (model, { store }, args, fence) => {
        const rows = Array.from({ length: args.rows }, () => fresh(model, 'finding'));
        const once = [await store.appendEvidence(fence, rows), model.appendEvidence(fence, rows)] as const;
        if (!args.again) return once;
        assert.equal(once[0], once[1]);
        const longer = model.held(fence)?.last().evidence.slice(-2) ?? rows;
        return [await store.appendEvidence(fence, longer), model.appendEvidence(fence, longer)];
      },
    ),
  ],
  [
    4,
    fenced(
      'complete',
      fc.record({ token, end: fc.nat(4), passed: fc.boolean() }),
      async (model, { store }, args, fence) => {
        const write = completing(model, fence, args.end, args.passed);
        return [await store.complete(write), model.complete(write)];
      },
    ),
  ],
  [
    1,
    command(
      'complete again',
      fc.record({ pick: fc.nat(99) }),
      async (model, { store }, { pick }) => {
        const write = model.completions[pick % model.completions.length];
        assert.ok(write !== undefined);
        return [await store.complete(write), model.complete(write)];
      },
      (model) => model.completions.length > 0,
    ),
  ],
  [
    2,
    fenced(
      'fail',
      fc.record({
        token,
        fault: fc.constantFrom<Fault>('infrastructure', 'agent', 'grader', 'policy'),
        delay: fc.constantFrom(0, 100, 1_000),
      }),
      async (model, { store }, args, fence) => {
        const attempt_status = args.fault === 'grader' ? 'failed_evaluation' : 'failed_agent_call';
        const evidence =
          args.fault === 'grader' ? [fresh(model, 'envelope'), fresh(model, 'finding')] : [fresh(model, 'failure')];
        const write = retryLater(fence, { fault: args.fault, attempt_status, delay_ms: args.delay, evidence });
        return [await store.fail(write), model.fail(write)];
      },
    ),
  ],
  [
    1,
    fenced('release', fc.record({ token }), async (model, { store }, _args, fence) => [
      await store.release(fence),
      model.release(fence),
    ]),
  ],
  [
    1,
    fenced(
      'suspend',
      fc.record({ token, wait: fc.constantFrom(0, 5_000) }),
      async (model, { store }, { wait }, fence) => {
        const deadline = model.instant() + wait;
        return [await store.suspend(fence, deadline), model.suspend(fence, deadline)];
      },
    ),
  ],
  [
    2,
    command(
      'reap',
      fc.record({
        dead: fc.subarray([...SESSION_IDS], { maxLength: 1 }),
        limit: fc.integer({ min: 1, max: 4 }),
        max_losses: fc.integer({ min: 0, max: 2 }),
      }),
      reap,
    ),
  ],
  [
    3,
    command('tick', fc.constantFrom(1, 50, 100, 101, 1_000, 5_000), async (model, { clock }, ms) => {
      clock.advance(ms);
      return [ms, model.tick(ms) ?? ms];
    }),
  ],
  [
    1,
    command('set the clock', fc.constantFrom(-700, 700, -9_000, 9_000), async (model, { clock }, ms) => {
      clock.set(ms);
      return [ms, model.set(ms) ?? ms];
    }),
  ],
  [
    1,
    command('cancel', run, async (model, { store }, id) => [
      await store.requestCancel(id, 'enough'),
      model.requestCancel(id, 'enough'),
    ]),
  ],
  [
    1,
    command('sweep', fc.record({ run, limit: fc.integer({ min: 1, max: 3 }) }), async (model, { store }, args) => {
      const answer = await store.sweepCancelled(args.run, args.limit);
      return [
        answer,
        model.sweepCancelled(args.run, args.limit),
        model.run(args.run).status === 'cancelled' ? 'cancelled' : 'open',
      ];
    }),
  ],
  [
    1,
    command('begin finalize', run, async (model, { store }, id) => [
      await store.beginFinalize(id),
      model.beginFinalize(id),
    ]),
  ],
  [1, command('finalize', run, finalize)],
  [
    1,
    command(
      'fail run',
      fc.tuple(run, fc.nat(7)),
      async (model, { store }, [id]) => [await store.failRun(id, 'broken'), model.failRun(id, 'broken')],
      (_model, [, luck]) => luck === 0,
    ),
  ],
  [
    1,
    command('session', fc.record({ session, close: fc.nat(5) }), async (model, { store }, args) => {
      if (args.close > 0) return [(await store.touchSession(args.session)) ?? 0, model.touchSession(args.session) ?? 0];
      return [(await store.closeSession(args.session)) ?? 0, model.closeSession(args.session) ?? 0];
    }),
  ],
  [
    1,
    command(
      'lose and claim',
      fc.record({
        lost: session,
        session,
        capacity: fc.integer({ min: 0, max: 4 }),
        wait: fc.constantFrom(0, 100, 300),
        lease_ms,
      }),
      loseAndClaim,
    ),
  ],
  [
    1,
    command(
      'work off',
      fc.record({ run, interrupt: fc.constantFrom('none', 'none', 'none', 'expire', 'cancel', 'fail') }),
      workOff,
    ),
  ],
];

function command<Args>(
  name: string,
  args: fc.Arbitrary<Args>,
  act: (model: StoreModel, real: Real, args: Args) => Promise<Answers>,
  check: (model: Readonly<StoreModel>, args: Args) => boolean = () => true,
): fc.Arbitrary<ModelCommand> {
  return args.map((drawn) => ({
    check: (model) => check(model, drawn),
    run: async (model, real) => {
      const [answer, expected, met] = await act(model, real, drawn);
      assert.deepEqual(plain(answer), plain(expected), `${name}: the store's answer is not the model's`);
      real.seen.add(`${name}: ${met ?? String(answer)}`);
    },
    toString: () => `${name}(${JSON.stringify(drawn)})`,
  }));
}

function fenced<Args extends { readonly token: Token }>(
  name: string,
  args: fc.Arbitrary<Args>,
  act: (model: StoreModel, real: Real, args: Args, fence: Fence) => Promise<Answers>,
): fc.Arbitrary<ModelCommand> {
  const check = (model: Readonly<StoreModel>, drawn: Args) => chosen(model, drawn.token) !== null;
  return command(
    name,
    args,
    async (model, real, drawn) => act(model, real, drawn, chosen(model, drawn.token) ?? assert.fail('no token')),
    check,
  );
}
