import path from 'node:path';
import { type Calmed, calmRounds } from '../calm.ts';
import { openApp, runEngine } from '../engine-run.ts';
import { writeWorkload } from '../fixtures/workload.ts';
import { measurePromptfoo, type PromptfooFigures } from '../peers/promptfoo.ts';
import { measureProctor, passedRun } from '../proctor-cli.ts';
import { rawRate } from '../raw-writes.ts';
import { median, percent, percentile, type Row, shown, told } from '../row.ts';
import { settled } from '../settled.ts';

const CONCURRENCY = 64;
const PEER_CONCURRENCY = 20; // promptfoo's best
const ROUNDS = 3;
const MOST_ROUNDS = 5; // until so many were calm
const MORE = 10; // times the peer's cases, for the steady rate of the whole process
const WARM_UP = 2_000;

/** Durable executions a second: the engine in this process, its raw limit, and the whole process beside promptfoo. */
export const durable: Row = {
  name: 'durable',
  title: 'durable executions, echo agent, one evaluator, default persistence, all triggers, synchronous=FULL',
  async measure({ folder, quick, note }) {
    const cases = quick ? 6_000 : 30_000;
    const peerCases = quick ? 300 : 2_000;
    await engineRate(path.join(folder, 'warm-up'), WARM_UP);
    const engine = await calmRounds(
      ROUNDS,
      MOST_ROUNDS,
      (round) => engineRound(folder, round, cases),
      ({ value, stolen }) => {
        note(
          `engine: ${shown(value.rate)}/s, p99 ${shown(value.p99_ms)} ms, raw ${shown(value.raw)}/s; ${taken(stolen)}`,
        );
      },
    );
    const whole = await calmRounds(
      ROUNDS,
      MOST_ROUNDS,
      (round) => wholeRound(folder, round, peerCases),
      ({ value, stolen }) => {
        note(
          `whole process: ${shown(value.steady_rate)}/s, promptfoo ${shown(value.peer.steady_rate_per_s)}/s; ${taken(stolen)}`,
        );
      },
    );
    const rounds = engine.chosen.map(({ value }) => value);
    const processes = whole.chosen.map(({ value }) => value);
    const middle = (read: (round: Round) => number) => median(rounds.map(read));
    const middleOf = (read: (round: Whole) => number) => median(processes.map(read));
    const rate = middle((round) => round.rate);
    const p99 = middle((round) => round.p99_ms);
    const raw = middle((round) => round.raw);
    const share = middle((round) => round.rate / round.raw);
    const times = middleOf(({ steady_rate, peer }) => steady_rate / peer.steady_rate_per_s);
    return {
      figures: [
        {
          figure: 'durable executions a second',
          bar: '≥ 5,000',
          measured: shown(rate),
          beside: `raw ${shown(raw)}/s`,
          met: rate >= 5_000,
        },
        {
          figure: 'share of the raw rate of the same rows',
          bar: '≥ 25 %',
          measured: percent(share),
          beside: `raw ${shown(raw)}/s`,
          met: share >= 0.25,
        },
        {
          figure: 'p99 claim to durable',
          bar: '≤ 50 ms',
          measured: `${shown(p99)} ms`,
          beside: `p50 ${shown(middle((round) => round.p50_ms))} ms`,
          met: p99 <= 50,
        },
        {
          figure: `steady rate of \`proctor run\`, ${shown(peerCases * MORE)} cases`,
          bar: '≥ 20 × promptfoo',
          measured: `${shown(middleOf((round) => round.steady_rate))}/s = ${shown(times)} ×`,
          beside: `promptfoo ${processes[0]?.peer.install_version} ${shown(middleOf(({ peer }) => peer.steady_rate_per_s))}/s on ${shown(peerCases)}`,
          met: times >= 20,
        },
        told(
          `whole process, ${shown(peerCases)} cases`,
          `${shown(middleOf((round) => round.all_ms))} ms`,
          `promptfoo ${shown(middleOf(({ peer }) => peer.whole_process_ms))} ms`,
        ),
        told(
          'whole process, 1 case',
          `${shown(middleOf((round) => round.one_ms))} ms`,
          `promptfoo ${shown(middleOf(({ peer }) => peer.one_case_ms))} ms`,
        ),
        told(
          'stolen from this machine while measured',
          `${percent(most(engine.chosen))} and ${percent(most(whole.chosen))}`,
          `all ${engine.all.length} and ${whole.all.length} rounds: ${shown(median(engine.all.map(({ value }) => value.rate)))}/s and ${shown(median(whole.all.map(({ value }) => value.steady_rate / value.peer.steady_rate_per_s)))} × in the middle`,
        ),
      ],
      details: { cases, peer_cases: peerCases, engine, whole },
    };
  },
};

interface Engine {
  readonly store_path: string;
  /** From the first to the last execution known to be durable. */
  readonly rate: number;
  readonly p50_ms: number;
  readonly p99_ms: number;
  readonly executions_a_commit: number;
}

interface Round extends Engine {
  readonly raw: number;
}

async function engineRate(home: string, cases: number): Promise<Engine> {
  await writeWorkload(home, { cases, concurrency: CONCURRENCY });
  const claimed = new Map<number, number>();
  const latencies: number[] = [];
  let first: number | null = null;
  let last = 0;
  await using app = await openApp(home);
  const run = await runEngine(app, {
    folder: home,
    concurrency: CONCURRENCY,
    onClaims: (ordinals) => {
      const now = performance.now();
      for (const ordinal of ordinals) claimed.set(ordinal, now);
    },
    onComplete: (ordinal) => {
      last = performance.now();
      first ??= last;
      latencies.push(last - (claimed.get(ordinal) ?? 0));
      claimed.delete(ordinal);
    },
  });
  if (latencies.length !== cases)
    throw new Error(`${latencies.length} executions were completed where ${cases} were asked for`);
  return {
    store_path: run.store_path,
    rate: ((cases - 1) / (last - (first ?? 0))) * 1000,
    p50_ms: percentile(latencies, 0.5),
    p99_ms: percentile(latencies, 0.99),
    executions_a_commit: cases / run.commits,
  };
}

/** The whole process beside the peer's, one after the other. */
interface Whole {
  /** The same cases as the peer's. */
  readonly all_ms: number;
  readonly one_ms: number;
  /** (many − 1) / (many_ms − one_ms), over ten times the cases: a run of the peer's few would end within the noise of a start. */
  readonly steady_rate: number;
  readonly peer: PromptfooFigures;
}

async function engineRound(folder: string, round: number, cases: number): Promise<Round> {
  const home = path.join(folder, `round-${round}`);
  await settled();
  const engine = await engineRate(home, cases);
  await settled();
  return { ...engine, raw: rawRate(engine.store_path, path.join(home, 'raw.db'), cases) };
}

/** `proctor run --json` over one case, the peer's cases and ten times as many; then the peer. */
async function wholeRound(folder: string, round: number, cases: number): Promise<Whole> {
  const wall = async (name: string, count: number) => {
    const home = path.join(folder, name);
    await writeWorkload(home, { cases: count, concurrency: CONCURRENCY });
    const measure = await measureProctor(home, ['run', 'profile.json', '--json', '--quiet']);
    passedRun(measure, count);
    return measure.wall_ms;
  };
  const many = cases * MORE;
  if (round === 1) await wall('whole-warm-up', 1);
  await settled();
  const one_ms = await wall(`whole-one-${round}`, 1);
  const all_ms = await wall(`whole-all-${round}`, cases);
  const many_ms = await wall(`whole-many-${round}`, many);
  if (many_ms <= one_ms)
    throw new Error(
      `more cases took no more time (${one_ms} ms, then ${many_ms} ms): the machine is too busy for a steady rate`,
    );
  await settled();
  const peer = await measurePromptfoo({ cases, concurrency: PEER_CONCURRENCY, work_dir: folder });
  return { all_ms, one_ms, steady_rate: ((many - 1) / (many_ms - one_ms)) * 1000, peer };
}

function taken(stolen: number): string {
  return `${percent(stolen)} stolen`;
}

function most(rounds: readonly Calmed<unknown>[]): number {
  return Math.max(...rounds.map(({ stolen }) => stolen));
}
