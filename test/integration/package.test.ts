import { chmod, mkdir, readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { run, temporaryFolder } from '../support/cli.ts';

const root = path.resolve(import.meta.dirname, '../..');

test('the packed package, installed in an empty project in an empty HOME, runs the demo to a verdict that verifies', async () => {
  await using folder = await temporaryFolder();
  const home = path.join(folder.path, 'home');
  const project = path.join(folder.path, 'project');
  await mkdir(home);
  await mkdir(project);
  await writeFile(path.join(project, 'package.json'), '{"name":"empty","private":true}\n');
  const environment = { HOME: home, XDG_CACHE_HOME: path.join(home, '.cache') };
  const packed = await run('npm', ['pack', '--pack-destination', folder.path], root, environment);
  expect(packed, packed.stderr).toMatchObject({ code: 0 });
  const [tarball] = (await readdir(folder.path)).filter((name) => name.endsWith('.tgz'));
  const installed = await run(
    'npm',
    ['install', '--no-audit', '--no-fund', path.join(folder.path, tarball ?? '')],
    project,
    environment,
  );
  expect(installed, installed.stderr).toMatchObject({ code: 0 });
  const demo = await run('npx', ['--no-install', 'proctor', 'demo', '--json'], project, environment);
  expect(demo, demo.stderr).toMatchObject({ code: 0 });
  const document = JSON.parse(demo.stdout) as Record<string, unknown>;
  expect(document).toMatchObject({
    gate_status: 'pass',
    executions: { total: 336, completed: 336 },
    passed: 312,
    verified: true,
  });
  expect(document['stale_attempts']).toBeGreaterThan(0);
});

test('the launcher passes over a system Node that is too old', async () => {
  await using folder = await temporaryFolder();
  const old = path.join(folder.path, 'node');
  await writeFile(old, '#!/bin/sh\necho v20.0.0\n');
  await chmod(old, 0o755);
  const found = await run(path.join(root, 'bin/proctor'), ['--version'], folder.path, {
    PATH: `${folder.path}:${process.env['PATH']}`,
  });
  expect(found).toEqual({ code: 0, stdout: '0.1.0\n', stderr: '' });
});
