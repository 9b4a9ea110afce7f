/**
 * Mutation testing: every operator, condition, number, text and block of the decisions is changed, one at a time, and a fast unit test
 * has to notice.
 *
 *   npm run mutation [-- --only GLOB] [--tests GLOB] [--workers 2] [--verbose]
 *
 * `--tests` is for a quick look while writing them: what other tests notice survives then.
 *
 * Exit code 1 when less than 90 % are noticed, when a survivor is not in `survivors.yaml`, or one of that list does not survive any more.
 */
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { table } from '../../src/cli/format.ts';
import { Lane } from './lanes.ts';
import { javascript, type Mutant, mutantsOf } from './mutants.ts';
import { Plan, type Target } from './plan.ts';
import { listedSurvivors } from './survivors.ts';

const { values } = parseArgs({
  options: {
    only: { type: 'string', multiple: true, default: [] },
    tests: { type: 'string', multiple: true, default: [] },
    workers: { type: 'string', default: '2' },
    verbose: { type: 'boolean', default: false },
  },
});

/** What is mutated, and the tests that have to notice. */
const MUTATED = ['src/core/**/*.ts', 'src/lib/rational.ts'];
const TESTS = ['test/core/**/*.test.ts', 'test/lib/rational.test.ts'];
const WANTED = 0.9;

const root = path.resolve(import.meta.dirname, '../..');
const say = (line: string) => process.stdout.write(`${line}\n`);
const filesOf = (globs: readonly string[]) => globSync([...globs], { cwd: root }).sort();

/** How a file came off. */
interface Score {
  readonly path: string;
  readonly total: number;
  readonly beyond: number;
  readonly survivors: readonly Mutant[];
}

const chosen = filesOf(MUTATED).filter(
  (file) => values.only.length === 0 || values.only.some((glob) => path.matchesGlob(file, glob) || file === glob),
);
if (chosen.length === 0) {
  process.stderr.write(`no mutated file is named ${values.only.join(', ')}; all of them: ${MUTATED.join(', ')}\n`);
  process.exit(2);
}

const started = performance.now();
const plan = await planned();
const targets = chosen.map((file) =>
  plan.target(file, mutantsOf(javascript(readFileSync(path.join(root, file), 'utf8')))),
);
const queue = targets.flatMap((target) => target.mutants.map((mutant) => ({ target, mutant })));
say(`${queue.length} mutants of ${chosen.length} files`);
const results = new Map<Mutant, 'killed' | 'beyond' | 'survived'>();
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => {
    say(`interrupted; what came out of ${results.size} mutants:`);
    report();
    process.exit(130);
  });
await Promise.all(Array.from({ length: Number(values.workers) }, work));
report();

async function planned(): Promise<Plan> {
  const lane = new Lane();
  const tests = filesOf(values.tests.length > 0 ? values.tests : TESTS).map((file) => ({ path: file, without: [] }));
  const ran = await lane.run({ path: '', mutant: null, affected: [], tests }, 600_000);
  lane.close();
  if (ran.type === 'beyond') throw new Error('the tests did not end within ten minutes of processor time');
  const plan = new Plan(ran.end);
  for (const line of plan.slow) say(`not used, slow: ${line}`);
  for (const line of plan.failing) say(`not used, fails by itself: ${line}`);
  return plan;
}

async function work(): Promise<void> {
  const lane = new Lane();
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    results.set(next.mutant, await outcome(lane, next.target, next.mutant));
    if (results.size % 500 === 0) say(`${results.size} done, ${queue.length} left`);
  }
  lane.close();
}

async function outcome(lane: Lane, target: Target, mutant: Mutant): Promise<'killed' | 'beyond' | 'survived'> {
  const { path: file, affected, tests, cpu_ms } = target;
  const ran = await lane.run({ path: file, mutant, affected, tests }, 2_000 + 2 * cpu_ms);
  const failed = ran.type === 'ended' ? ran.end.ends.find(({ error }) => error !== null) : undefined;
  if (values.verbose)
    say(
      `${file}:${mutant.line} ${mutant.name}\n    ${failed?.name ?? (ran.type === 'beyond' ? `beyond ${ran.what}` : 'SURVIVED')}`,
    );
  if (ran.type === 'beyond') return 'beyond';
  return failed === undefined ? 'survived' : 'killed';
}

function report(): void {
  const scores = chosen.map((file) => scoreOf(file));
  const listed = listedSurvivors();
  const unlisted = scores.flatMap(({ path: file, survivors }) =>
    survivors
      .filter(({ name }) => !listed.some((one) => one.file === file && one.name === name))
      .map(({ name, line }) => ({ file, name, line })),
  );
  const gone = listed.filter(
    ({ file, name }) =>
      queue.length === 0 &&
      chosen.includes(file) &&
      !scores.some((one) => one.path === file && one.survivors.some((mutant) => mutant.name === name)),
  );
  const killed = scores.map(({ total, survivors }) => total - survivors.length);
  const [all, noticed] = [queueSize(scores), killed.reduce((sum, one) => sum + one, 0)];
  say(
    table([
      ['file', 'mutants', 'killed', 'of them by limit', 'survived', 'share'],
      ...scores.map(({ path: file, total, beyond, survivors }) => row(file, total, beyond, survivors.length)),
      row(
        'all',
        all,
        scores.reduce((sum, { beyond }) => sum + beyond, 0),
        all - noticed,
      ),
    ]),
  );
  for (const { file, name, line } of unlisted) say(`survived, not listed: ${file}:${line} ${name}`);
  for (const { file, name } of gone) say(`listed, but does not survive: ${file} ${name}`);
  const took = Math.round((performance.now() - started) / 1000);
  say(
    `${noticed} of ${all} killed (${share(noticed, all)}), ${all - noticed} survived, ${unlisted.length} of them not listed; ${took} s`,
  );
  if (noticed < WANTED * all || unlisted.length > 0 || gone.length > 0 || plan.failing.length > 0) process.exitCode = 1;
}

function scoreOf(file: string): Score {
  const all = targets.find((target) => target.path === file)?.mutants ?? [];
  const mutants = all.filter((mutant) => results.has(mutant));
  return {
    path: file,
    total: mutants.length,
    beyond: mutants.filter((mutant) => results.get(mutant) === 'beyond').length,
    survivors: mutants.filter((mutant) => results.get(mutant) === 'survived'),
  };
}

function queueSize(scores: readonly Score[]): number {
  return scores.reduce((sum, { total }) => sum + total, 0);
}

function row(file: string, total: number, beyond: number, survived: number): string[] {
  return [
    file,
    String(total),
    String(total - survived),
    String(beyond),
    String(survived),
    share(total - survived, total),
  ];
}

function share(part: number, of: number): string {
  return of === 0 ? '' : `${((100 * part) / of).toFixed(1)} %`;
}
