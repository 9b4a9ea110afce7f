import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';
import { Pool } from 'undici';
import { calmRounds } from '../calm.ts';
import { caseText } from '../fixtures/cases.ts';
import { writeWorkload } from '../fixtures/workload.ts';
import type { ProcessMeasure } from '../measure-process.ts';
import { measureProctor, passedRun, storeOf } from '../proctor-cli.ts';
import { median, megabytes, percent, type Row, shown, told } from '../row.ts';
import { settled } from '../settled.ts';

const CONCURRENCY = 20;
const DELAY_MS = 25;
const MOST_ROUNDS = 3; // until one was calm

/** HTTP cases against an agent in its own process: how much of the rate that is possible the engine reaches, and at what cost. */
export const http: Row = {
  name: 'http',
  title: `HTTP cases at concurrency ${CONCURRENCY}, an agent of ${DELAY_MS} ms in its own process`,
  async measure({ folder, quick, note }) {
    const cases = quick ? 4_000 : 20_000;
    await using slow = await startAgent(DELAY_MS);
    const { chosen, all } = await calmRounds(
      1,
      MOST_ROUNDS,
      async (round): Promise<Round> => {
        await settled();
        const before = await bareClient(slow.url, cases / 10);
        const run = await runCases(path.join(folder, `slow-${round}`), slow.url, cases);
        return { before, run, after: await bareClient(slow.url, cases / 10) };
      },
      ({ value, stolen }) =>
        note(
          `${shown(value.run.rate)}/s = ${percent(value.run.rate / possibleRate(value))}; ${percent(stolen)} stolen`,
        ),
    );
    const [calmest] = chosen;
    if (calmest === undefined) throw new Error('no round was made');
    const { before, run, after } = calmest.value;
    const possible = possibleRate(calmest.value);
    await using instant = await startAgent(0);
    const fast = await runCases(path.join(folder, 'fast'), instant.url, cases);
    const one = await runCases(path.join(folder, 'one'), instant.url, 1);
    const cpu_ms = (fast.measure.cpu_ms - one.measure.cpu_ms) / (cases - 1);
    const bare = (before.rate + after.rate) / 2;
    const peak = Math.max(...all.map(({ value }) => value.run.measure.peak_rss_bytes));
    return {
      figures: [
        {
          figure: `rate of ${shown(cases)} cases`,
          bar: '≥ 90 % of possible',
          measured: `${shown(run.rate)}/s = ${percent(run.rate / possible)}`,
          beside: `possible ${shown(possible)}/s, bare client ${shown(bare)}/s, nominal ${shown((CONCURRENCY / DELAY_MS) * 1000)}/s`,
          met: run.rate >= 0.9 * possible,
        },
        {
          figure: 'peak memory of the process tree',
          bar: '< 200 MB',
          measured: megabytes(peak),
          beside: 'agent left out; the most of all rounds',
          met: peak < 200e6,
        },
        told('CPU a case, instant agent', `${shown(cpu_ms * 1000)} µs`, `${shown(fast.rate)}/s`),
        told(
          `whole process, ${shown(cases)} cases`,
          `${shown(run.measure.wall_ms / 1000)} s`,
          `one case ${shown(one.measure.wall_ms)} ms`,
        ),
        told(
          'stolen from this machine while measured',
          percent(calmest.stolen),
          `all ${all.length} rounds: ${percent(median(all.map(({ value }) => value.run.rate / possibleRate(value))))} of possible in the middle`,
        ),
      ],
      details: {
        cases,
        possible_per_s: possible,
        bare: { before, after },
        rate_per_s: run.rate,
        rounds: all,
        instant_rate_per_s: fast.rate,
        cpu_us_a_case: cpu_ms * 1000,
        peak_rss_bytes: peak,
      },
    };
  },
};

/** A run between two looks at what a bare client reaches. */
interface Round {
  readonly before: Bare;
  readonly run: Awaited<ReturnType<typeof runCases>>;
  readonly after: Bare;
}

interface Bare {
  readonly rate: number;
  readonly mean_ms: number;
}

/** As many calls at once as allowed, each as long as a bare client's in the better of its two looks. */
function possibleRate({ before, after }: Round): number {
  return (CONCURRENCY / Math.min(before.mean_ms, after.mean_ms)) * 1000;
}

interface Agent extends AsyncDisposable {
  readonly url: string;
}

async function startAgent(delayMs: number): Promise<Agent> {
  const child = spawn(
    process.execPath,
    [path.join(import.meta.dirname, '..', 'fixtures', 'delay-agent.ts'), '--delay-ms', String(delayMs)],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  const { url } = JSON.parse(line) as { url: string };
  return { url, [Symbol.asyncDispose]: () => stop(child) };
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  await exited;
}

/** As many requests over as many kept connections, with nothing around them: the rate and the latency that are there to be had. */
async function bareClient(url: string, requests: number): Promise<Bare> {
  const { origin, pathname } = new URL(url);
  const pool = new Pool(origin, { connections: CONCURRENCY, pipelining: 1 });
  let next = 0;
  let waited_ms = 0;
  const client = async () => {
    while (next < requests) {
      next += 1;
      const input = caseText(next);
      const asked = performance.now();
      const { statusCode, body } = await pool.request({
        path: pathname,
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ case: { input } }),
      });
      const answer = (await body.json()) as { text?: unknown };
      waited_ms += performance.now() - asked;
      if (statusCode !== 200 || answer.text !== input)
        throw new Error(`the agent answered ${statusCode} ${JSON.stringify(answer)}`);
    }
  };
  const started = performance.now();
  await Promise.all(Array.from({ length: CONCURRENCY }, client));
  const elapsed_ms = performance.now() - started;
  await pool.close();
  return { rate: (requests / elapsed_ms) * 1000, mean_ms: waited_ms / requests };
}

/** `proctor run` over the cases as a whole process; its rate from the first attempt's start to the last execution's end. */
async function runCases(
  folder: string,
  url: string,
  cases: number,
): Promise<{ measure: ProcessMeasure; rate: number }> {
  await writeWorkload(folder, { cases, concurrency: CONCURRENCY, agent: { kind: 'http', endpoint: { url } } });
  const measure = await measureProctor(folder, ['run', 'profile.json', '--json', '--quiet']);
  passedRun(measure, cases);
  using db = new DatabaseSync(storeOf(folder), { readOnly: true });
  const { first, last } = db
    .prepare('select min(started_at) as first, (select max(finished_at) from result) as last from attempt')
    .get() as { first: number; last: number };
  return { measure, rate: (cases / Math.max(1, last - first)) * 1000 };
}
