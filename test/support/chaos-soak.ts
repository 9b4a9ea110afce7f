import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { buildPackage } from '../../scripts/build-package.ts';
import type { App } from '../../src/app.ts';
import { type Audit, auditRun, type Reference, referenceOf } from './chaos-audit.ts';
import { createExamRun, openApp, startAgent, storeIn, temporaryFolder, writeExam } from './chaos-exam.ts';
import { proctor } from './chaos-process.ts';
import { type Disturbed, disturb } from './chaos-supervisor.ts';

export interface SoakOptions {
  readonly runs: number;
  readonly executions: number;
  readonly seed: number;
  /** A run with fewer kills proves too little and is a violation. */
  readonly least_kills: number;
  /** Worker processes at a time; default 16. */
  readonly workers?: number;
  /** How many of them every kill leaves at work; default 3; 0 for none, whatever ends in between (see `Disturbance`). */
  readonly least_working?: number;
  /** Executions that end between two kills, where some are left at work; default 5. More of them, and fewer leases are lost by one. */
  readonly least_ended?: number;
  /** Default 1,000; on a busy machine a worker that nobody stopped may not renew a short one in time. */
  readonly lease_ms?: number;
  /** Ends the soak early, with nothing left behind. */
  readonly signal?: AbortSignal;
  /** Told of every run when it has been held against the reference. */
  readonly told?: (run: SoakedRun) => void;
}

/** One disturbed run: what was done to it, what it shows of that, and what is wrong. */
export interface SoakedRun extends Audit, Disturbed {
  readonly index: number;
  readonly duration_ms: number;
  readonly violations: readonly string[];
}

export interface SoakReport {
  readonly seed: number;
  /** Where stores and profile lie when there was a violation; else gone. */
  readonly folder: string;
  readonly reference: Reference;
  readonly runs: readonly SoakedRun[];
  /** Everything that is wrong, of each run and of the whole. */
  readonly violations: readonly string[];
}

// A kill every 250 ms takes an attempt of 80 ms along with one in fifty: an execution's budget of five losses is then out of reach. Among
// half as many workers it is one in twenty-five, and one run in some hundred had an execution that met more than five.
const WORKERS = 16;
const LEAST_WORKING = 3;
const LEAST_ENDED = 5; // a quiet machine ends some fifteen between two kills
const LEASE_MS = 1_000;
const KILL_EVERY_MS = 250;
const CONCURRENCY = 5; // fewer in flight: a run long enough for the kills that are asked for
const RUN_LIMIT_MS = 300_000;
const MORE_RUNS = 3; // of a short soak, when its few stops happened to hit nobody at the right moment

/**
 * Examines the chaos agent once in peace and then `runs` times under fire; answers what was seen and everything that is wrong. The
 * workers run the package as it is shipped.
 */
export async function soak(options: SoakOptions): Promise<SoakReport> {
  await using folder = await temporaryFolder('soak');
  const main = await buildPackage(folder.file('package'));
  await using agent = await startAgent();
  await writeExam(folder.path, {
    executions: options.executions,
    concurrency: CONCURRENCY,
    port: agent.port,
    external: true,
  });
  const reference = await undisturbed(folder.path, folder.file('reference'), main);
  const random = randomOf(options.seed);
  const runs: SoakedRun[] = [];
  const violations: string[] = [];
  for (
    let index = 1;
    index <= options.runs || (index <= options.runs + MORE_RUNS && lacking(runs).length > 0);
    index += 1
  ) {
    const run = await disturbed(folder.path, folder.file(`run-${index}`), {
      index,
      main,
      reference,
      random,
      options,
    });
    runs.push(run);
    options.told?.(run);
    violations.push(...run.violations.map((violation) => `run ${index}: ${violation}`));
    if (run.violations.length > 0) break; // its store is kept; more of the same would bury it
    await rm(folder.file(`run-${index}`), { recursive: true, force: true });
  }
  if (violations.length === 0) {
    for (const figure of lacking(runs)) violations.push(`no run had any ${figure}: the disturbance does not bite`);
  }
  violations.push(...(await leftBehind(folder.path)));
  if (violations.length > 0) folder.keep();
  return { seed: options.seed, folder: folder.path, reference, runs, violations };
}

/** What no run has shown yet, of what a stop longer than a lease must lead to. */
function lacking(runs: readonly SoakedRun[]): string[] {
  const figures = ['stops', 'reaped', 'late_completions', 'late_evidence'] as const;
  return figures.filter((figure) => !runs.some((run) => run[figure] > 0));
}

async function undisturbed(examFolder: string, storeFolder: string, main: string): Promise<Reference> {
  await using app = await openIn(examFolder, storeFolder);
  const runId = await createExamRun(app, examFolder);
  const ended = await proctor(
    ['resume', runId, '--quiet'],
    { cwd: examFolder, environment: storeIn(storeFolder), main },
    RUN_LIMIT_MS,
  );
  if (ended.code !== 0)
    throw new Error(`the undisturbed run ended with ${ended.signal ?? ended.code}: ${ended.stderr}`);
  return await referenceOf(app, runId);
}

interface OneRun {
  readonly index: number;
  readonly main: string;
  readonly reference: Reference;
  readonly random: () => number;
  readonly options: SoakOptions;
}

async function disturbed(examFolder: string, storeFolder: string, one: OneRun): Promise<SoakedRun> {
  const { index, main, reference, random, options } = one;
  await using app = await openIn(examFolder, storeFolder);
  const runId = await createExamRun(app, examFolder);
  const started = performance.now();
  const done = await disturb(
    app.store,
    runId,
    { cwd: examFolder, environment: storeIn(storeFolder), main },
    {
      workers: options.workers ?? WORKERS,
      least_working: options.least_working ?? LEAST_WORKING,
      least_ended: options.least_working === 0 ? 0 : (options.least_ended ?? LEAST_ENDED),
      lease_ms: options.lease_ms ?? LEASE_MS,
      kill_every_ms: KILL_EVERY_MS,
      limit_ms: RUN_LIMIT_MS,
      signal: options.signal ?? new AbortController().signal,
      random,
    },
  );
  const duration_ms = Math.round(performance.now() - started);
  const audit = await auditRun(app, runId, reference);
  const few = done.kills < options.least_kills ? [`only ${done.kills} kills, the bar is ${options.least_kills}`] : [];
  return { index, duration_ms, ...done, ...audit, violations: [...done.violations, ...audit.violations, ...few] };
}

async function openIn(examFolder: string, storeFolder: string): Promise<App> {
  await mkdir(storeFolder);
  return await openApp(examFolder, storeFolder);
}

/** Processes that still run with this soak's folder in their environment (Linux only; elsewhere nothing is found). */
export async function leftBehind(folder: string): Promise<string[]> {
  const pids = (await readdir('/proc').catch(() => [])).filter(
    (name) => /^\d+$/.test(name) && name !== String(process.pid),
  );
  const found = await Promise.all(
    pids.map(async (pid) => {
      const environment = await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => ''); // gone, or another user's
      return environment.includes(folder) ? [`process ${pid} was left behind`] : [];
    }),
  );
  return found.flat();
}

/** A small seeded generator (mulberry32): the same seed, the same choices; good enough to pick victims. */
function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
