import { type SoakedRun, soak } from '../support/chaos-soak.ts';
import { type AttackOptions, Tally } from './tally.ts';

const RUNS = 15;
// Kills and leases leave a busy machine room enough that no execution meets more losses than its budget of five.
const DISTURBANCE = { executions: 500, workers: 8, least_kills: 20, least_ended: 10, lease_ms: 3_000 };

/** Workers of 15 runs are killed and stopped; each run ends with the verdict and content digest of an undisturbed one. */
export async function attackByChaos({ seed, say }: AttackOptions): Promise<Tally> {
  const tally = new Tally();
  const told = (run: SoakedRun) =>
    say(`run ${run.index}: ${run.kills} kills, ${run.stops} stops, ${Math.round(run.duration_ms / 1000)} s`);
  const report = await soak({ ...DISTURBANCE, runs: RUNS, seed, told });
  for (const { index, violations } of report.runs)
    tally.tried('workers killed and stopped', `run ${index}`, violations.length > 0 ? violations.join('; ') : null);
  for (const violation of report.violations.filter((text) => !/^run \d+: /.test(text))) tally.failures.push(violation);
  if (tally.failures.length > 0) tally.failures.push(`kept for a look: ${report.folder}`);
  const sum = (figure: 'kills' | 'stops' | 'reaped' | 'late_completions') =>
    report.runs.reduce((total, run) => total + run[figure], 0);
  tally.notes.push(
    `${sum('kills')} kills, ${sum('stops')} stops, ${sum('reaped')} leases reaped, ${sum('late_completions')} completions that came too late`,
  );
  tally.atLeast(RUNS, 'chaos runs');
  return tally;
}
