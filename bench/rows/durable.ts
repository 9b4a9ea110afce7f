import path from 'node:path';
import { openApp, runEngine } from '../engine-run.ts';
import { writeWorkload } from '../fixtures/workload.ts';
import { measurePromptfoo } from '../peers/promptfoo.ts';
import { measureProctor, passedRun } from '../proctor-cli.ts';
import { rawRate } from '../raw-writes.ts';
import { median, percent, percentile, type Row, type RowContext, shown, told } from '../row.ts';
import { settled } from '../settled.ts';

const CONCURRENCY = 64;
const PEER_CONCURRENCY = 20; // promptfoo's best
const ROUNDS = 3;
const WARM_UP = 2_000;

/** Durable executions a second: the engine in this process, its raw limit, and the whole process beside promptfoo. */
export const durable: Row = {
  name: 'durable',
  title: 'durable executions, echo agent, one evaluator, default persistence, all triggers, synchronous=FULL',
  async measure({ folder, quick, note }) {
    const cases = quick ? 6_000 : 30_000;
    const peerCases = quick ? 300 : 2_000;
    await engineRate(path.join(folder, 'warm-up'), WARM_UP);
    const rounds: Round[] = [];
    for (let round = 1; round <= ROUNDS; round += 1) {
      const home = path.join(folder, `round-${round}`);
      await settled();
      const engine = await engineRate(home, cases);
      await settled();
      const raw = rawRate(engine.store_path, path.join(home, 'raw.db'), cases);
      rounds.push({ ...engine, raw });
      note(`round ${round} of ${ROUNDS}: ${shown(engine.rate)}/s, p99 ${shown(engine.p99_ms)} ms, raw ${shown(raw)}/s`);
    }
    const whole = await wholeProcess(folder, peerCases);
    if (whole.steady_rate <= 0)
      throw new Error(
        `more cases took no more time (${whole.one_ms} ms, then ${whole.many_ms} ms): the machine is too busy for a steady rate`,
      );
    const peer = await measurePromptfoo({ cases: peerCases, concurrency: PEER_CONCURRENCY, work_dir: folder });
    const rate = median(rounds.map((round) => round.rate));
    const p99 = median(rounds.map((round) => round.p99_ms));
    const raw = median(rounds.map((round) => round.raw));
    const share = median(rounds.map((round) => round.rate / round.raw));
    const times = whole.steady_rate / peer.steady_rate_per_s;
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
          beside: `p50 ${shown(median(rounds.map((round) => round.p50_ms)))} ms`,
          met: p99 <= 50,
        },
        {
          figure: `steady rate of \`proctor run\`, ${shown(whole.many)} cases`,
          bar: '≥ 20 × promptfoo',
          measured: `${shown(whole.steady_rate)}/s = ${shown(times)} ×`,
          beside: `promptfoo ${peer.install_version} ${shown(peer.steady_rate_per_s)}/s on ${shown(peerCases)}`,
          met: times >= 20,
        },
        told(
          `whole process, ${shown(peerCases)} cases`,
          `${shown(whole.all_ms)} ms`,
          `promptfoo ${shown(peer.whole_process_ms)} ms`,
        ),
        told('whole process, 1 case', `${shown(whole.one_ms)} ms`, `promptfoo ${shown(peer.one_case_ms)} ms`),
      ],
      details: { cases, rounds, whole, promptfoo: peer },
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

interface Whole {
  /** Cases of the run that the steady rate comes from: a run of the peer's few would end within the noise of a start. */
  readonly many: number;
  readonly many_ms: number;
  /** The same cases as the peer's, as a whole process. */
  readonly all_ms: number;
  readonly one_ms: number;
  /** (many − 1) / (many_ms − one_ms): what a further case costs. */
  readonly steady_rate: number;
}

/** `proctor run --json` over the peer's cases, over ten times as many, and over one. */
async function wholeProcess(folder: RowContext['folder'], cases: number): Promise<Whole> {
  const wall = async (name: string, count: number) => {
    const home = path.join(folder, name);
    await writeWorkload(home, { cases: count, concurrency: CONCURRENCY });
    const measure = await measureProctor(home, ['run', 'profile.json', '--json', '--quiet']);
    passedRun(measure, count);
    return measure.wall_ms;
  };
  const many = cases * 10;
  await wall('whole-warm-up', 1);
  const times = { one: [] as number[], all: [] as number[], many: [] as number[] };
  for (let round = 1; round <= ROUNDS; round += 1) {
    times.one.push(await wall(`whole-one-${round}`, 1));
    times.all.push(await wall(`whole-all-${round}`, cases));
    times.many.push(await wall(`whole-many-${round}`, many));
  }
  const [one_ms, all_ms, many_ms] = [median(times.one), median(times.all), median(times.many)];
  return { many, many_ms, all_ms, one_ms, steady_rate: ((many - 1) / (many_ms - one_ms)) * 1000 };
}
