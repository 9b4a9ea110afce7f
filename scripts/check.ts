import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { timedAssertionsIn } from './timed-assertions.ts';

/** `npm run check`: types, lint and format, dead code, tests that tell the time; what the tests do not see. */
const root = path.resolve(import.meta.dirname, '..');
const STEPS: readonly (readonly [string, ...string[]])[] = [
  ['tsc', '-p', 'tsconfig.json'],
  ['biome', 'ci', '--error-on-warnings', '.'],
  ['knip', '--no-progress'],
];
for (const [name, ...argv] of STEPS) {
  const { status } = spawnSync(path.join(root, 'node_modules/.bin', name), argv, { cwd: root, stdio: 'inherit' });
  if (status !== 0) {
    process.stderr.write(`${name} found something\n`);
    process.exitCode = 1;
  }
}
for (const timed of timedAssertionsIn(root)) {
  process.stderr.write(`${timed}\n`);
  process.exitCode = 1;
}
