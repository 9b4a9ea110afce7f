import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { leavesOut } from '../support/chaos-needs.ts';
import { proctor, temporaryFolder } from '../support/cli.ts';
import { examine } from '../support/examined.ts';

const mounted = new Set<string>();
afterAll(() => {
  for (const place of mounted) spawnSync('umount', ['--lazy', place]);
});

const leftOut = leavesOut(await whyNoMount(), 'what can be done with a store that can only be read');

test.skipIf(leftOut)(
  'a store that can only be read is shown, verified, compared and exported, and nothing else',
  async () => {
    await using folder = await temporaryFolder();
    const place = path.join(folder.path, 'disk');
    mkdirSync(place);
    expect(spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=32m', 'tmpfs', place]).status).toBe(0);
    mounted.add(place);
    const exam = path.join(place, 'exam');
    mkdirSync(exam);
    mkdirSync(path.join(place, 'empty'));
    const { run_id } = await examine(exam, { cases: 3, wrong: [2] });
    const writable = await proctor(exam, ['show', run_id, '--json']);
    expect(spawnSync('mount', ['-o', 'remount,ro', place]).status).toBe(0);

    const shown = await proctor(exam, ['show', run_id, '--json']);
    expect(shown).toMatchObject({ code: 0, stderr: expect.stringContaining('can only be read here') });
    expect(shown.stdout).toBe(writable.stdout);
    const out = path.join(folder.path, 'run.proctor');
    for (const argv of [
      ['runs'],
      ['show', run_id, '--executions'],
      ['verify', run_id],
      ['compare', run_id, run_id],
      ['export', run_id, '--format', 'junit'],
      ['export', run_id, '--format', 'bundle', '--out', out],
      ['verify', out],
    ]) {
      const { code, stdout, stderr } = await proctor(exam, argv);
      const expected = argv[0] === 'compare' ? 5 : 0; // a run is not told apart from itself
      expect([argv, code, `${stdout}${stderr}`]).toEqual([argv, expected, expect.not.stringContaining('readonly')]);
    }
    for (const argv of [
      ['run', 'profile.json'],
      ['bless', run_id],
      ['correct', run_id, 'c0002', '--status', 'passed', '--reason', 'x'],
    ]) {
      const { code, stdout, stderr } = await proctor(exam, [...argv, '--json']);
      expect(stderr).not.toContain('what the file holds'); // it shows nothing
      const wrong = JSON.parse(stdout) as { code: string; detail: string };
      expect([argv, code, wrong.code]).toEqual([argv, 3, expect.stringMatching(/^store_(read_only|failed)$/)]);
      expect(wrong.detail).not.toContain('\n    at ');
    }
    const none = await proctor(path.join(place, 'empty'), ['run', '../exam/profile.json', '--json']);
    expect(none.code).toBe(3);
    expect(JSON.parse(none.stdout)).toMatchObject({ code: 'store_failed', detail: expect.stringContaining('EROFS') });
    for (const argv of [['init'], ['policy', 'init']]) {
      const { code, stderr } = await proctor(path.join(place, 'empty'), argv);
      expect([argv, code, stderr]).toEqual([argv, 2, expect.stringMatching(/cannot be read or written \(EROFS\)/)]);
      expect(stderr).not.toContain('    at ');
    }
    expect(spawnSync('umount', [place]).status).toBe(0);
    mounted.delete(place);
  },
);

async function whyNoMount(): Promise<string | null> {
  if (process.platform !== 'linux') return 'only Linux has a small disk in memory';
  await using folder = await temporaryFolder();
  const mount = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', folder.path]);
  if (mount.status !== 0) return 'a file system cannot be mounted, which needs root';
  const unmount = spawnSync('umount', [folder.path]);
  return unmount.status === 0 ? null : 'umount failed';
}
