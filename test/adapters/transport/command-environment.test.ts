import { chmod, mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { commandEnvironment, findProgram } from '../../../src/adapters/transport/command-environment.ts';

let folder = '';
let own = '';

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'proctor-environment-'));
  own = await realpath(process.execPath);
  await mkdir(join(folder, 'old'));
  for (const name of ['node', 'python3']) {
    await writeFile(join(folder, 'old', name), '#!/bin/sh\necho older\n');
    await chmod(join(folder, 'old', name), 0o755);
  }
  await mkdir(join(folder, 'own'));
  await symlink(own, join(folder, 'own', 'node'));
  await mkdir(join(folder, 'empty'));
  await mkdir(join(folder, 'folder', 'node'), { recursive: true });
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const pathOf = (...entries: string[]) => entries.map((entry) => join(folder, entry)).join(delimiter);

describe('the PATH of a command', () => {
  it.each([
    ['an older Node is first', ['old', 'own']],
    ['there is only an older Node', ['old']],
    ['there is no Node', ['empty']],
    ['a folder is named node', ['folder', 'old']],
    ['its own Node is first', ['own', 'old']],
  ])("leads to Proctor's own Node where %s", async (_, entries) => {
    const environment = commandEnvironment({ PATH: pathOf(...entries) });
    expect(await realpath((await findProgram('node', folder, environment)) ?? '')).toBe(own);
  });

  it('leads to every other program as before', async () => {
    const environment = commandEnvironment({ PATH: pathOf('old') });
    expect(await findProgram('python3', folder, environment)).toBe(join(folder, 'old', 'python3'));
    expect(commandEnvironment({ PATH: pathOf('own', 'old') })['PATH']).toBe(pathOf('own', 'old'));
  });

  it('is the one that a profile sets, unchanged', () => {
    expect(commandEnvironment({ PATH: pathOf('own') }, { PATH: pathOf('old') })['PATH']).toBe(pathOf('old'));
  });

  it('finds no program in a folder, a link that leads nowhere or a file without the right', async () => {
    await symlink('nowhere', join(folder, 'empty', 'dangling'));
    await writeFile(join(folder, 'empty', 'plain'), '');
    const environment = { PATH: pathOf('folder', 'empty') };
    for (const name of ['node', 'dangling', 'plain']) expect(await findProgram(name, folder, environment)).toBeNull();
  });
});
