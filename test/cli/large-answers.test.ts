import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { measureProcess } from '../../bench/measure-process.ts';
import { builtPackage } from '../support/built-package.ts';
import { proctor, temporaryFolder } from '../support/cli.ts';
import { examine } from '../support/examined.ts';
import { bundleOfLargeAnswers } from '../support/large-answers.ts';

const MOST_BYTES = 300_000_000;

test('answers as large as a bundle carries them verify within 300 MB, in the bundle and in the store', async () => {
  await using folder = await temporaryFolder();
  await bundleOfLargeAnswers(folder.path, 2);
  for (const argv of [
    ['verify', 'large.proctor', '--json'],
    ['verify', 'last', '--json'],
    ['export', 'last', '--format', 'bundle', '--out', 'again.proctor', '--json'],
  ]) {
    const came = await measureProcess({
      argv: [process.execPath, '--disable-warning=ExperimentalWarning', builtPackage().main, ...argv],
      cwd: folder.path,
      sample_ms: 10,
    });
    expect(came.exit_code, came.stdout + came.stderr).toBe(0);
    expect(came.peak_rss_bytes, argv.join(' ')).toBeLessThan(MOST_BYTES);
  }
});

test('large findings are verified, corrected and bundled as small ones are', async () => {
  await using folder = await temporaryFolder();
  await writeFile(
    path.join(folder.path, 'grade.mjs'),
    `export const grade = ({ envelope }) => ({
  status: 'passed', score: 0.5, reason: 'r'.repeat(70_000), evidence: { said: envelope.text, long: 'é'.repeat(100_000), list: Array.from({ length: 50_000 }, () => []) },
});\n`,
  );
  const evaluators = ['large', 'other'].map((dimension) => ({ ref: 'module:grade.mjs#grade', dimension }));
  const small = { ref: 'exact_match@1', dimension: 'small' };
  const profile = { case_groups: [{ id: 'all', evaluators: [...evaluators, small] }] };
  await examine(folder.path, { cases: 2, profile });
  const correction = ['correct', 'last', 'c0002', '--evaluator', '1', '--status', 'failed', '--reason', 'looked at it'];
  for (const argv of [
    ['verify', 'last'],
    correction,
    ['verify', 'last'],
    ['export', 'last', '--format', 'bundle', '--out', 'run.proctor'],
    ['verify', 'run.proctor'],
  ]) {
    const done = await proctor(folder.path, argv);
    expect(done.code, `${argv.join(' ')}: ${done.stdout}${done.stderr}`).toBe(0);
  }
});
