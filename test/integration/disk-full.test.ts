import { spawnSync } from 'node:child_process';
import { mkdir, rm, statfs, writeFile } from 'node:fs/promises';
import { afterAll, expect, test } from 'vitest';
import { openApp, storeIn, type TemporaryFolder, temporaryFolder } from '../support/chaos-exam.ts';
import { leavesOut } from '../support/chaos-needs.ts';
import { proctor } from '../support/chaos-process.ts';

const DISK_BYTES = 24 * 1024 * 1024;
const FREE_BYTES = 2 * 1024 * 1024;
const FULL = /is full; free some room; `proctor resume run_\w+` then goes on: nothing is lost/;

const mounted = new Set<string>();
afterAll(() => {
  for (const path of mounted) spawnSync('umount', ['--lazy', path]);
});

const leftOut = leavesOut(await whyNoMount(), 'what happens when the disk is full');

test.skipIf(leftOut)(
  'a run whose store fills the disk stops with exit 3 and says what to do; with room it goes on to the same verdict',
  async () => {
    await using folder = await temporaryFolder('disk');
    await using disk = await smallDisk(folder);
    await writeEchoExam(folder, { cases: 1_500, bytes: 2_000 });
    const peace = await proctor(['run', 'profile.json', '--json', '--quiet'], {
      cwd: folder.path,
      environment: storeIn(folder.file('peace')),
    });
    const environment = { PROCTOR_DB: `${disk.path}/proctor.db`, PROCTOR_ARTIFACTS: folder.file('artifacts') };
    const at = { cwd: folder.path, environment };

    const stopped = await proctor(['run', 'profile.json'], at);

    expect(stopped, stopped.stdout + stopped.stderr).toMatchObject({ code: 3, signal: null });
    expect(stopped.stderr).toMatch(FULL);
    expect(stopped.stderr).not.toMatch(/ {4}at /); // a full disk is no crash: no stack
    await disk.makeRoom();
    const resumed = await proctor(['resume', 'last', '--json', '--quiet'], at);
    expect({ code: resumed.code, stderr: resumed.stderr }).toEqual({ code: 0, stderr: '' });
    await expectSame(resumed.stdout, peace.stdout);
    expect((await proctor(['verify', 'last', '--json'], at)).code).toBe(0);
    await expectSound(folder, environment);
  },
);

test.skipIf(leftOut)('so does one whose artifacts fill it', async () => {
  await using folder = await temporaryFolder('disk');
  await using disk = await smallDisk(folder);
  await writeEchoExam(folder, { cases: 100, bytes: 40_000 }); // an answer of more than 16 KiB becomes an artifact
  const peace = await proctor(['run', 'profile.json', '--json', '--quiet'], {
    cwd: folder.path,
    environment: storeIn(folder.file('peace')),
  });
  const environment = { PROCTOR_DB: folder.file('proctor.db'), PROCTOR_ARTIFACTS: `${disk.path}/artifacts` };
  const at = { cwd: folder.path, environment };
  await disk.leave(FREE_BYTES + 100 * 40_000 + 300_000); // the plan fits

  const stopped = await proctor(['run', 'profile.json', '--json', '--quiet'], at);

  expect(stopped, stopped.stdout + stopped.stderr).toMatchObject({ code: 3, signal: null });
  expect(JSON.parse(stopped.stdout)).toMatchObject({
    code: 'store_full',
    status: 507,
    detail: expect.stringMatching(FULL),
  });
  await disk.makeRoom();
  const resumed = await proctor(['resume', 'last', '--json', '--quiet'], at);
  expect({ code: resumed.code, stderr: resumed.stderr }).toEqual({ code: 0, stderr: '' });
  await expectSame(resumed.stdout, peace.stdout);
  expect((await proctor(['verify', 'last', '--json'], at)).code).toBe(0);
  await expectSound(folder, environment);
});

test.skipIf(leftOut)('a disk that is full from the start creates nothing and says so with exit 3', async () => {
  await using folder = await temporaryFolder('disk');
  await using disk = await smallDisk(folder);
  await writeEchoExam(folder, { cases: 10, bytes: 10 });
  await disk.leave(0);

  const stopped = await proctor(['run', 'profile.json', '--json'], {
    cwd: folder.path,
    environment: storeIn(disk.path),
  });

  expect(stopped, stopped.stdout + stopped.stderr).toMatchObject({ code: 3, signal: null });
  expect(JSON.parse(stopped.stdout)).toMatchObject({
    code: 'store_full',
    detail: expect.stringMatching(/is full; free some room; then run it again: no run was created$/),
  });
});

interface SmallDisk extends AsyncDisposable {
  readonly path: string;
  /** Fills it up to so many free bytes. */
  leave(bytes: number): Promise<void>;
  /** Takes what fills it away. */
  makeRoom(): Promise<void>;
}

/** A file system of its own in memory, filled so that little is free. */
async function smallDisk(folder: TemporaryFolder): Promise<SmallDisk> {
  const path = folder.file('disk');
  await mkdir(path);
  const mount = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK_BYTES}`, 'tmpfs', path]);
  if (mount.status !== 0) throw new Error(`mount failed: ${mount.stderr}`);
  mounted.add(path);
  const makeRoom = () => rm(`${path}/ballast`, { force: true });
  const leave = async (bytes: number) => {
    await makeRoom();
    const { bavail, bsize } = await statfs(path);
    await writeFile(`${path}/ballast`, Buffer.alloc(Math.max(0, bavail * bsize - bytes)));
  };
  await leave(FREE_BYTES);
  return {
    path,
    leave,
    makeRoom,
    async [Symbol.asyncDispose]() {
      const unmount = spawnSync('umount', [path]);
      if (unmount.status !== 0) throw new Error(`umount failed, something holds it open: ${unmount.stderr}`);
      mounted.delete(path);
    },
  };
}

async function writeEchoExam(
  folder: TemporaryFolder,
  { cases, bytes }: { cases: number; bytes: number },
): Promise<void> {
  const profile = {
    profile_id: 'disk-full',
    dataset: { path: 'cases.jsonl' },
    agent: { kind: 'echo', name: 'echo', version: '1' },
    limits: { concurrency: 16 },
    case_groups: [{ id: 'all', evaluators: [{ ref: 'contains@1', config: { values: 'text' } }] }],
  };
  const lines = Array.from({ length: cases }, (_, index) =>
    JSON.stringify({ id: `case-${index}`, input: `text ${index} `.padEnd(bytes, 'x') }),
  );
  await writeFile(folder.file('profile.json'), JSON.stringify(profile));
  await writeFile(folder.file('cases.jsonl'), `${lines.join('\n')}\n`);
}

async function expectSame(stdout: string, undisturbed: string): Promise<void> {
  const [after, before] = [stdout, undisturbed].map((text) => JSON.parse(text) as Record<string, unknown>);
  expect(before).toMatchObject({ status: 'completed', gate_status: 'pass' });
  expect(after).toMatchObject({ status: 'completed', gate_status: 'pass', content_digest: before?.['content_digest'] });
}

async function expectSound(
  folder: TemporaryFolder,
  environment: { PROCTOR_DB: string; PROCTOR_ARTIFACTS: string },
): Promise<void> {
  await using app = await openApp(folder.path, environment);
  expect(await app.store.invariants()).toEqual([]);
}

async function whyNoMount(): Promise<string | null> {
  if (process.platform !== 'linux') return 'only Linux has a small disk in memory';
  await using folder = await temporaryFolder('mount');
  const mount = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', folder.path]);
  if (mount.status !== 0)
    return `a file system cannot be mounted (${String(mount.stderr ?? mount.error).trim()}), which needs root`;
  const unmount = spawnSync('umount', [folder.path]);
  return unmount.status === 0 ? null : `umount failed: ${unmount.stderr}`;
}
