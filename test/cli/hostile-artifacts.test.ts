import { spawnSync } from 'node:child_process';
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Writable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openArtifactFolder } from '../../src/artifacts/folder.ts';
import { runCli } from '../../src/cli/program.ts';

let root = '';
let run = '';
const at = (...parts: string[]) => path.join(root, ...parts);
/** The path of one artifact of each kind. */
const artifacts: Record<string, string> = {};
/** What each command says while nothing is wrong. */
const sound = new Map<string, { code: number; stdout: string }>();

/** What stands in place of an artifact, and how it is told. */
const IN_PLACE: Readonly<Record<string, readonly [put: (file: string, bytes: Buffer) => void, told: RegExp]>> = {
  'a tebibyte of zeros': [(file) => sparse(file, 2 ** 40), /1099511627776 bytes/],
  'forty mebibytes of zeros': [(file) => sparse(file, 40 * 2 ** 20), /its 41943040 bytes have the digest/],
  'a byte more': [
    (file, bytes) => {
      writeFileSync(file, bytes);
      appendFileSync(file, ' ');
    },
    /was altered: its \d+ bytes have the digest/,
  ],
  'a byte less': [
    (file, bytes) => writeFileSync(file, bytes.subarray(1)),
    /was altered: its \d+ bytes have the digest/,
  ],
  'another byte': [
    (file, bytes) => writeFileSync(file, Buffer.concat([Buffer.of((bytes[0] ?? 0) ^ 1), bytes.subarray(1)])),
    /was altered: its \d+ bytes have the digest/,
  ],
  'an empty file': [(file) => writeFileSync(file, ''), /its 0 bytes have the digest/],
  'a pipe': [(file) => spawnSync('sh', ['-c', 'mkfifo "$1"', 'sh', file]), /is a named pipe, not a regular file/],
  'a link to a device': [(file) => symlinkSync('/dev/zero', file), /is a device, not a regular file/],
  'a folder': [(file) => mkdirSync(file), /is a folder, not a regular file/],
  'a link that leads nowhere': [(file) => symlinkSync('nowhere', file), /is a link that leads nowhere/],
  'a link to itself': [(file) => symlinkSync(path.basename(file), file), /ELOOP/],
  nothing: [() => undefined, /does not exist/],
};

const COMMANDS: readonly (readonly string[])[] = [
  ['show', 'RUN', '--case', 'a'],
  ['show', 'RUN', '--executions'],
  ['export', 'RUN', '--format', 'jsonl'],
  ['export', 'RUN', '--format', 'html'],
  ['export', 'RUN', '--format', 'csv'],
  ['export', 'RUN', '--format', 'junit'],
  ['export', 'RUN', '--format', 'bundle', '--out', 'x.proctor'],
  ['verify', 'RUN'],
  ['compare', 'RUN', 'RUN'],
  ['correct', 'RUN', 'a', '--status', 'failed', '--reason', 'x'],
];

/** A run of its own, which takes its time: tried where it has most to read, with a few of them. */
const REGRADE = ['regrade', 'RUN', '--profile', 'regrade.json'];

beforeAll(async () => {
  root = mkdtempSync(path.join(tmpdir(), 'proctor-artifacts-'));
  writeFileSync(at('cases.jsonl'), `${JSON.stringify({ id: 'a', input: 'x'.repeat(30_000) })}\n`);
  const group = { id: 'a', evaluators: [{ ref: 'module:grade.mjs#grade', dimension: 'd' }] };
  writeFileSync(
    at('grade.mjs'),
    "export const grade = () => ({ status: 'passed', evidence: { why: 'y'.repeat(30_000) } });\n",
  );
  const profile = {
    profile_id: 'artifacts',
    dataset: { path: 'cases.jsonl' },
    agent: { kind: 'echo', name: 'a', version: '1' },
    case_groups: [group],
  };
  writeFileSync(at('profile.json'), JSON.stringify(profile));
  const contains = [{ id: 'a', evaluators: [{ ref: 'contains@1', dimension: 'd', config: { values: 'x' } }] }];
  writeFileSync(at('regrade.json'), JSON.stringify({ ...profile, case_groups: contains }));
  const done = await cli(['run', 'profile.json', '--quiet', '--json']);
  expect(done).toMatchObject({ code: 0 });
  run = (JSON.parse(done.stdout) as { run_id: string }).run_id;
  const folder = at('.proctor', 'artifacts');
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((one) => one.length > 10)) {
    const text = readFileSync(path.join(folder, name), 'utf8');
    artifacts[kindOf(text)] = path.join(folder, name);
  }
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

function kindOf(text: string): string {
  if (text.includes('"format":"proctor/plan/1"')) return 'plan';
  if (text.includes('"case_content"')) return 'chunk';
  return text.startsWith('{"content":') ? 'envelope' : 'result';
}

test('the run has an artifact of each kind', () => {
  expect(Object.keys(artifacts).sort()).toEqual(['chunk', 'envelope', 'plan', 'result']);
});

test('an artifact whose size was recorded is not read when it has another', async () => {
  using folder = openArtifactFolder(at('sizes'));
  const digest = await folder.put('x'.repeat(20_000));
  expect((await folder.get(digest, 20_000)).length).toBe(20_000);
  const file = at('sizes', digest.slice(0, 2), digest.slice(2));
  for (const size of [2 ** 40, 30 * 2 ** 20, 20_001, 19_999, 0]) {
    sparse(file, size);
    await expect(folder.get(digest, 20_000)).rejects.toThrow(`it has ${size} bytes, and 20000 were recorded`);
  }
});

describe.each(Object.entries(IN_PLACE))('%s in place of an artifact', (what, [put, told]) => {
  test.each(['plan', 'chunk', 'envelope', 'result'])(
    'the %s: every command says so plainly, or does not need it',
    async (kind) => {
      const file = artifacts[kind] ?? '';
      const grades = kind === 'envelope' && /tebibyte|pipe|nothing/.test(what);
      for (const argv of grades ? [...COMMANDS, REGRADE] : COMMANDS) {
        const before = sound.get(argv.join(' ')) ?? (await cli(argv));
        sound.set(argv.join(' '), before);
        renameSync(file, at('kept'));
        put(file, readFileSync(at('kept')));
        const { code, stdout } = await cli([...argv, '--json']);
        rmSync(file, { recursive: true, force: true });
        renameSync(at('kept'), file);
        expect(stdout).not.toMatch(/"code":"internal"|\n {4}at /);
        if (code === before.code && !told.test(stdout)) continue; // it does without
        expect([argv, code, stdout]).toEqual([argv, argv[0] === 'verify' ? 1 : 3, expect.stringMatching(told)]);
      }
    },
  );
});

function sparse(file: string, bytes: number): void {
  writeFileSync(file, '');
  truncateSync(file, bytes);
}

async function cli(argv: readonly string[]): Promise<{ code: number; stdout: string }> {
  let stdout = '';
  const stream = (take: (text: string) => void) =>
    new Writable({
      write(chunk: Buffer, _encoding, done) {
        take(chunk.toString());
        done();
      },
    }) as unknown as NodeJS.WriteStream;
  const code = await runCli(
    argv.map((word) => (word === 'RUN' ? run : word)),
    {
      cwd: root,
      environment: { PATH: process.env['PATH'], NO_COLOR: '1' },
      stdout: stream((text) => {
        stdout += text;
      }),
      stderr: stream(() => undefined),
    },
  );
  return { code, stdout };
}
