/**
 * The soak: the same examination again and again while its workers are killed and stopped, held each time against an
 * undisturbed run.
 *
 *   npm run soak -- [--runs 100] [--executions 500] [--seed N] [--json FILE] [--workers 16] [--least-working 0]
 *
 * A worker is killed every 250 ms, whatever that leaves at work; with `--least-working N` a kill waits until so many have started.
 * Exit code 1 on any violation, with the seed and the folder that is kept for a look.
 */
import { writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { table } from '../../src/cli/format.ts';
import { type SoakedRun, soak } from '../support/chaos-soak.ts';

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '100' },
    executions: { type: 'string', default: '500' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    json: { type: 'string' },
    workers: { type: 'string', default: '16' },
    'least-working': { type: 'string', default: '0' },
  },
});
const interrupted = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interrupted.abort(new Error(signal)));
const options = {
  runs: whole('runs'),
  executions: whole('executions'),
  seed: whole('seed'),
  workers: whole('workers'),
  least_working: whole('least-working', 0),
  least_kills: 20,
  signal: interrupted.signal,
};

say(`soak: ${options.runs} runs × ${options.executions} executions, seed ${options.seed}`);
const runs: SoakedRun[] = [];
const told = (run: SoakedRun) => {
  runs.push(run);
  say(line(run));
};
const report = await soak({ ...options, told }).catch(async (error: unknown) => {
  if (!interrupted.signal.aborted) throw error;
  if (values.json !== undefined)
    await writeFile(values.json, `${JSON.stringify({ interrupted: true, runs }, null, 2)}\n`);
  say(`\ninterrupted after ${runs.length} runs`);
  process.exit(130);
});
say(`\n${closing(report.runs)}`);
if (values.json !== undefined) await writeFile(values.json, `${JSON.stringify(report, null, 2)}\n`);
for (const violation of report.violations) say(`VIOLATION ${violation}`);
if (report.violations.length > 0) {
  say(`\n${report.violations.length} violations; seed ${report.seed}; kept for a look: ${report.folder}`);
  process.exitCode = 1;
} else
  say(
    `\nno violation; every verdict and content digest is that of the undisturbed run: ${report.reference.content_digest}`,
  );

function whole(name: 'runs' | 'executions' | 'seed' | 'workers' | 'least-working', least = 1): number {
  const value = Number(values[name]);
  if (Number.isSafeInteger(value) && value >= least) return value;
  throw new Error(`--${name} is \`${values[name]}\`; it must be a whole number from ${least} on`);
}

function line(run: SoakedRun): string {
  const state = run.violations.length === 0 ? 'ok  ' : 'FAIL';
  const counts = `${run.kills} kills, ${run.stops} stops, ${run.reaped} reaped, ${run.late_completions} late completions, ${run.late_evidence} late evidence`;
  return `${state} run ${run.index}: ${(run.duration_ms / 1000).toFixed(1)} s, ${counts}, ${run.attempts} attempts, at most ${run.most_losses} leases lost by one execution, a kill every ${Math.round(run.duration_ms / Math.max(1, run.kills))} ms`;
}

function closing(runs: readonly SoakedRun[]): string {
  const columns = [
    'kills',
    'stops',
    'reaped',
    'late_completions',
    'late_evidence',
    'attempts',
    'most_losses',
    'duration_ms',
  ] as const;
  const rows = columns.map((column) => {
    const figures = runs.map((run) => run[column]);
    const sum = figures.reduce((total, figure) => total + figure, 0);
    return [column, Math.min(...figures), Math.round(sum / figures.length), Math.max(...figures), sum].map(String);
  });
  return table([['', 'least', 'mean', 'most', 'sum'], ...rows]);
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
