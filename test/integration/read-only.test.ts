import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { gunzipSync } from 'node:zlib';
import { afterAll, afterEach, expect, test, vi } from 'vitest';
import { leavesOut } from '../support/chaos-needs.ts';
import { proctor, temporaryFolder } from '../support/cli.ts';
import { examine } from '../support/examined.ts';

const mounted = new Set<string>();
afterEach(() => vi.unstubAllEnvs());
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
    const doctor = await proctor(exam, ['doctor', '--verify', '--backup', path.join(folder.path, 'copy.db')]);
    expect(doctor).toMatchObject({ code: 0, stdout: expect.not.stringContaining('✗') });
    expect(doctor.stdout).toMatch(/! disk +`.*` and `.*` cannot be written: the runs there can be shown/);
    expect(doctor.stdout).toMatch(/! store .* which can only be read here/);
    const nothing = await proctor(path.join(place, 'empty'), ['doctor'], {
      PROCTOR_DB: path.join(place, 'empty/x.db'),
    });
    expect(nothing).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/✗ disk .* cannot be written: new runs need/),
    });
    expect(spawnSync('umount', [place]).status).toBe(0);
    mounted.delete(place);
  },
);

const OLD = path.resolve(import.meta.dirname, '../fixtures/format-1');

test.skipIf(leftOut)(
  'a store of an older Proctor, or with a log that was not folded in, is read from a copy',
  async () => {
    await using folder = await temporaryFolder();
    const place = path.join(folder.path, 'disk');
    const temporary = path.join(folder.path, 'tmp');
    for (const made of [place, temporary]) mkdirSync(made);
    expect(spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=32m', 'tmpfs', place]).status).toBe(0);
    mounted.add(place);
    const [old, torn] = ['old', 'torn'].map((name) => path.join(place, name)) as [string, string];
    mkdirSync(path.join(old, '.proctor'), { recursive: true });
    cpSync(path.join(OLD, 'artifacts'), path.join(old, '.proctor/artifacts'), { recursive: true });
    writeFileSync(path.join(old, '.proctor/proctor.db'), gunzipSync(readFileSync(path.join(OLD, 'proctor.db.gz'))));
    mkdirSync(torn);
    await examine(torn, { cases: 3, wrong: [2] });
    leaveLog(path.join(torn, '.proctor'));
    expect(spawnSync('mount', ['-o', 'remount,ro', place]).status).toBe(0);

    for (const [at, expected] of [
      [old, 5],
      [torn, 1],
    ] as const) {
      vi.stubEnv('TMPDIR', temporary); // of this process, in which the commands run
      const listed = await proctor(at, ['runs', '--json']);
      const runs = listed.stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as { run_id: string });
      expect([listed.code, runs.length]).toEqual([0, expected]);
      const run_id = runs.at(-1)?.run_id ?? '';
      for (const argv of [
        ['show', run_id],
        ['verify', run_id],
        ['compare', run_id, run_id],
        ['export', run_id, '--format', 'jsonl'],
        ['export', run_id, '--format', 'bundle', '--out', path.join(folder.path, 'x.proctor')],
        ['doctor', '--verify'],
      ]) {
        const { code, stdout, stderr } = await proctor(at, argv);
        expect([argv, code, stdout + stderr]).toEqual([
          argv,
          argv[0] === 'compare' ? expect.toBeOneOf([0, 5]) : 0,
          expect.anything(),
        ]);
      }
      const refused = await proctor(at, ['bless', run_id, '--json']);
      expect(JSON.parse(refused.stdout)).toMatchObject({ code: 'store_read_only' });
      vi.stubEnv('TMPDIR', old);
      const full = await proctor(at, ['show', run_id, '--json']);
      expect(JSON.parse(full.stdout)).toMatchObject({
        code: 'store_read_only',
        detail: expect.stringMatching(/copy the store with its artifacts to where it can be written/),
      });
    }
    expect(readdirSync(temporary)).toEqual([]);
    expect(spawnSync('umount', [place]).status).toBe(0);
    mounted.delete(place);
  },
);

/** Puts a copy of the store in its place as a process leaves it that was killed: with a log, without the log's index. */
function leaveLog(folder: string): void {
  const file = path.join(folder, 'proctor.db');
  const db = new DatabaseSync(file);
  db.exec('pragma wal_autocheckpoint = 0; begin; create table t (x); drop table t; commit');
  for (const end of ['', '-wal']) cpSync(`${file}${end}`, `${file}-kept${end}`);
  db.close();
  rmSync(`${file}-shm`, { force: true });
  for (const end of ['', '-wal']) renameSync(`${file}-kept${end}`, `${file}${end}`);
}

async function whyNoMount(): Promise<string | null> {
  if (process.platform !== 'linux') return 'only Linux has a small disk in memory';
  await using folder = await temporaryFolder();
  const mount = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', folder.path]);
  if (mount.status !== 0) return 'a file system cannot be mounted, which needs root';
  const unmount = spawnSync('umount', [folder.path]);
  return unmount.status === 0 ? null : 'umount failed';
}
