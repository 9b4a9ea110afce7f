/**
 * Where the time of a durable execution goes: the echo agent with one evaluator in this process, sampled by V8's profiler
 * after a warm-up run, then once more with every SQL statement timed.
 *
 *   node bench/profile.ts [--cases 30000] [--top 25] [--out FILE.cpuprofile]
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { Session } from 'node:inspector/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { groupedSelfTime, topFunctions } from './cpu-profile.ts';
import { openApp, runEngine } from './engine-run.ts';
import { writeWorkload } from './fixtures/workload.ts';
import { timeStatements } from './statement-times.ts';

const { values } = parseArgs({
  options: {
    cases: { type: 'string', default: '30000' },
    top: { type: 'string', default: '25' },
    out: { type: 'string' },
  },
});
const CONCURRENCY = 64;
const cases = Number(values.cases);
const folder = await mkdtemp(path.join(tmpdir(), 'proctor-profile-'));
try {
  await engine('warm', 2_000);
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.setSamplingInterval', { interval: 200 });
  const plain = await engine('plain', cases, {
    before: async () => void (await session.post('Profiler.start')),
  });
  const { profile } = await session.post('Profiler.stop');
  if (values.out) await writeFile(values.out, JSON.stringify(profile));
  print(
    `${cases} executions, ${Math.round((cases / plain.wall_ms) * 1000)}/s over the whole worker, ${(cases / plain.commits).toFixed(1)} executions a commit\n`,
  );
  print('self time by group (V8 profiler)');
  for (const [group, share] of groupedSelfTime(profile)) print(`  ${percent(share)}  ${group}`);
  print('\nself time by function');
  for (const [name, share] of topFunctions(profile, Number(values.top))) print(`  ${percent(share)}  ${name}`);

  const statements = timeStatements();
  const timed = await engine('timed', cases);
  print(
    `\nby SQL statement (timed, ${Math.round((cases / timed.wall_ms) * 1000)}/s): share of wall, calls an execution, µs a call`,
  );
  for (const { sql, ms, calls } of statements().slice(0, Number(values.top))) {
    print(
      `  ${percent(ms / timed.wall_ms)}  ${(calls / cases).toFixed(3).padStart(7)}  ${((ms * 1000) / calls).toFixed(1).padStart(7)}  ${sql.replace(/\s+/g, ' ').slice(0, 110)}`,
    );
  }
} finally {
  await rm(folder, { recursive: true, force: true });
}

async function engine(name: string, count: number, hooks: { before?: () => Promise<void> } = {}) {
  const home = path.join(folder, name);
  await writeWorkload(home, { cases: count, concurrency: CONCURRENCY });
  await using app = await openApp(home);
  return await runEngine(app, { folder: home, concurrency: CONCURRENCY, ...hooks });
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1).padStart(5)} %`;
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
