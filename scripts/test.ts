import { spawnSync } from 'node:child_process';
import { chmodSync, globSync, mkdtempSync, readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

/**
 * `npm test [-- FILE …]`: every suite but the chaos runs (`npm run chaos`), with closing lines that say how many passed and what was
 * left out. Under CI=true a skipped test is a failed one: what a machine lacks is to be installed, not left out. Only the tests of
 * real data are left out wherever `PROCTOR_DATA` names no folder of them.
 */
const root = path.resolve(import.meta.dirname, '..');
const LEAST_BYTES = 4 * 2 ** 30;
const folder = scratchFolder();
const report = path.join(folder, 'report.json');
const asked = process.argv.slice(2);
const argv = [
  path.join(root, 'node_modules/vitest/vitest.mjs'),
  'run',
  '--reporter=default',
  '--reporter=json',
  `--outputFile.json=${report}`,
  ...(asked.some((argument) => argument.startsWith('--project') || argument.startsWith('test/chaos'))
    ? []
    : ['--project=!chaos']),
  ...asked,
];
const environment = { ...process.env, TMPDIR: folder };
const { status } = spawnSync(process.execPath, argv, { cwd: root, stdio: 'inherit', env: environment });

interface Report {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly numTodoTests: number;
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly assertionResults: readonly unknown[];
  }[];
}

let code = status ?? 1;
try {
  const { numPassedTests, numFailedTests, numPendingTests, numTodoTests, testResults } = JSON.parse(
    readFileSync(report, 'utf8'),
  ) as Report;
  const skipped = numPendingTests + numTodoTests;
  if (numPassedTests === 0) code ||= 1;
  if (skipped > 0 && process.env['CI'] === 'true') {
    process.stderr.write(`${skipped} tests were skipped; with CI=true that is a failure\n`);
    code ||= 1;
  }
  // A file that could not be loaded has no tests that could fail.
  const unread = testResults.filter(
    ({ status, assertionResults }) => status === 'failed' && assertionResults.length === 0,
  );
  if (unread.length > 0) {
    process.stderr.write(`could not be loaded: ${unread.map(({ name }) => path.relative(root, name)).join(', ')}\n`);
    code ||= 1;
  }
  process.stdout.write(
    `${numPassedTests} passed, ${numFailedTests} failed${skipped > 0 ? `, ${skipped} skipped` : ''}\n`,
  );
} catch (error) {
  process.stderr.write(`the tests left no report: ${error instanceof Error ? error.message : String(error)}\n`);
  code ||= 1;
}
if (!process.env['PROCTOR_DATA'] && !asked.some((argument) => argument.startsWith('--project'))) {
  const files = globSync('test/real-data/*.test.ts', { cwd: root }).sort().join(', ');
  process.stdout.write(`left out: ${files}; PROCTOR_DATA names no folder of benchmark records\n`);
}
rmSync(folder, { recursive: true, force: true });
process.exitCode = code;

/** Where tests keep what they write: in memory where that holds enough and programs may be started from it, since flushes to a disk take most of their time. */
function scratchFolder(): string {
  const memory = '/dev/shm';
  for (const parent of process.env['TMPDIR'] === undefined ? [memory, tmpdir()] : [tmpdir()]) {
    if (parent === memory && !(availableIn(memory) > LEAST_BYTES)) continue;
    const made = mkdtempSync(path.join(parent, 'proctor-test-'));
    chmodSync(made, 0o711); // PostgreSQL runs as another user, in a folder of its own
    const script = path.join(made, 'starts.sh');
    writeFileSync(script, '#!/bin/sh\n', { mode: 0o755 });
    if (parent !== memory || spawnSync(script).status === 0) return made;
    rmSync(made, { recursive: true });
  }
  throw new Error('no folder for temporary files was found');
}

function availableIn(folder: string): number {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  } catch {
    return 0; // not on this system
  }
}
