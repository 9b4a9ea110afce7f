import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { proctorProcess, temporaryFolder } from '../support/cli.ts';
import { writeExamination } from '../support/examined.ts';
import { toolProject } from '../support/tool-project.ts';

/** Other tests run commands inside their own process: that nothing keeps a process alive shows here. */
test('every command that works on runs ends by itself, with its exit code', async () => {
  await using folder = await temporaryFolder();
  const at = folder.path;
  await writeExamination(at, { cases: 3 });
  await writeFile(path.join(at, 'set.jsonl'), '{"input":"is 1 a number?","answer":"yes","score":1,"expected":"yes"}\n');
  const commands: readonly (readonly [code: number, ...argv: string[]])[] = [
    [0, 'init', 'started'],
    [0, 'check', 'profile.json', '--probe'],
    [0, 'run', 'profile.json', '--workers', '1'],
    [0, 'run', 'profile.json', '--quiet'],
    [0, 'run', 'profile.json', '--plan'],
    [0, 'runs'],
    [0, 'show', 'last', '--case', 'c0001'],
    [5, 'compare', 'last', 'last'],
    [0, 'bless', 'last'],
    [0, 'regrade', 'last', '--quiet'],
    [0, 'correct', 'last', 'c0001', '--status', 'failed', '--reason', 'no'],
    [0, 'watch', 'last'],
    [0, 'export', 'last', '--format', 'bundle', '--out', 'run.proctor'],
    [0, 'verify', 'run.proctor'],
    [0, 'verify', 'last'],
    [0, 'webhooks', 'list'],
    [0, 'webhooks', 'deliver'],
    [0, 'schema', 'profile'],
    [0, 'doctor', '--verify'],
    [2, 'resume', 'nothing'],
    [2, 'cancel', 'nothing'],
    [2, 'nonsense'],
  ];
  for (const [code, ...argv] of commands) {
    const ended = await proctorProcess(at, argv);
    expect([argv, ended.code], ended.stderr).toEqual([argv, code]);
  }
});

test('so does every command of the gateway', async () => {
  await using project = await toolProject();
  const commands: readonly (readonly [code: number, ...argv: string[]])[] = [
    [0, 'tool', 'ls'],
    [0, 'tool', 'run', 'box.read', '--args', '{"text":"a"}'],
    [4, 'tool', 'run', 'box.write', '--args', '{"text":"b"}'],
    [1, 'tool', 'run', 'box.fails'],
    [0, 'approvals'],
    [0, 'tool', 'disable', 'box', '--reason', 'audit'],
    [0, 'policy', 'check'],
  ];
  for (const [code, ...argv] of commands)
    expect([argv, (await proctorProcess(project.path, argv)).code]).toEqual([argv, code]);
});
