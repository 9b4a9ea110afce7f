import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Writable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runCli } from '../../src/cli/program.ts';
import { CASES, PLACES, profile } from '../support/named-files.ts';

/** What may stand where a file is named, and how it is told. */
const KINDS: Readonly<Record<string, RegExp>> = {
  pipe: /is a named pipe, not a regular file/,
  device: /is a device, not a regular file/,
  folder: /is a folder/,
  socket: /is a socket, not a regular file/,
  dangling: /is a link that leads nowhere/,
  loop: /ELOOP/,
};

let root = '';
let server: Server;
let trials = 0;
const at = (...parts: string[]) => path.join(root, ...parts);

beforeAll(async () => {
  root = await mkdtemp(path.join(tmpdir(), 'proctor-files-'));
  expect(spawnSync('sh', ['-c', 'mkfifo "$1"', 'sh', at('pipe')]).status).toBe(0);
  await symlink('/dev/zero', at('device'));
  await mkdir(at('folder'));
  await symlink(at('nowhere'), at('dangling'));
  await symlink(at('loop'), at('loop'));
  server = createServer().listen(at('socket'));
  await mkdir(at('exam'));
  await write(at('exam'), { 'profile.json': profile({}), 'cases.jsonl': CASES });
  expect(await cli(at('exam'), ['run', 'profile.json', '--quiet'])).toMatchObject({ code: 0 });
  expect(await cli(at('exam'), ['export', 'last', '--format', 'bundle', '--out', at('sound.proctor')])).toMatchObject({
    code: 0,
  });
});
afterAll(async () => {
  server.close();
  await rm(root, { recursive: true, force: true });
});

/** What is told otherwise than by its kind, or is no mistake there. */
const OTHERWISE: Readonly<Record<string, RegExp | null>> = {
  ...Object.fromEntries(
    Object.keys(KINDS).map((kind) => [`program of an agent/${kind}`, /cannot be found or may not be executed/]),
  ),
  'bundle/folder': /there is no store/, // then it is the name of a run
  'store/dangling': /there is no store/,
  'store/loop': /there is no store|ELOOP/,
};

describe.each(Object.entries(PLACES))(
  'where a file is named: %s',
  (place, { name, files = {}, argv, environment = {} }) => {
    test.each(Object.entries(KINDS))('a %s is refused at once and plainly', async (kind, told) => {
      trials += 1;
      const folder = at(`trial-${trials}`);
      await mkdir(folder);
      await write(folder, files);
      await symlink(at(kind), path.join(folder, name));
      const absolute = Object.fromEntries(Object.entries(environment).map(([key, to]) => [key, path.join(folder, to)]));
      const { code, stdout, stderr } = await cli(folder, [...argv, '--json'], absolute);
      const text = `${stdout}${stderr}`;
      expect(text).toMatch(OTHERWISE[`${place}/${kind}`] ?? told);
      expect(text).not.toMatch(/"code":"internal"|\n {4}at /);
      expect([1, 2, 3]).toContain(code);
    });
  },
);

const TARGETS: readonly (readonly string[])[] = [
  ['export', 'last', '--format', 'jsonl', '--out'],
  ['export', 'last', '--format', 'bundle', '--out'],
  ['doctor', '--backup'],
];

test.each(TARGETS)('%s %s %s %s does not write over what is no file', async (...argv) => {
  for (const kind of ['pipe', 'device', 'folder', 'socket']) {
    const { code, stdout } = await cli(at('exam'), [...argv, at(kind), '--json']);
    expect({ code, stdout }).toMatchObject({ code: 2, stdout: expect.stringMatching(KINDS[kind] ?? /^$/) });
    expect((await stat(at(kind))).isFile()).toBe(false);
  }
});

test('an artifact that is no file any more is told as missing', async () => {
  const run = at('exam', '.proctor', 'artifacts');
  const [first = ''] = await readdir(run);
  const [name = ''] = await readdir(path.join(run, first));
  await rename(path.join(run, first, name), at('kept'));
  await symlink(at('pipe'), path.join(run, first, name));
  const { code, stdout } = await cli(at('exam'), ['verify', 'last', '--json']);
  expect({ code, stdout }).toMatchObject({ code: 1, stdout: expect.stringMatching(KINDS['pipe'] ?? /^$/) });
  await rm(path.join(run, first, name));
  await rename(at('kept'), path.join(run, first, name));
});

async function write(folder: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, text] of Object.entries(files)) await writeFile(path.join(folder, name), text);
}

/** Runs a command line in this process. */
async function cli(
  cwd: string,
  argv: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<{ code: number; stdout: string; stderr: string }> {
  const said = { stdout: '', stderr: '' };
  const stream = (name: 'stdout' | 'stderr') =>
    new Writable({
      write(chunk: Buffer, _encoding, done) {
        said[name] += chunk.toString();
        done();
      },
    }) as unknown as NodeJS.WriteStream;
  const code = await runCli(argv, {
    cwd,
    environment: { PATH: process.env['PATH'], NO_COLOR: '1', ...environment },
    stdout: stream('stdout'),
    stderr: stream('stderr'),
  });
  return { code, ...said };
}
