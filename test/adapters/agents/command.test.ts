import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { command } from '../../../src/adapters/agents/command.ts';
import { envelope } from '../../../src/contract/agent.ts';
import { agentRequest, invokeOnce, openAgent, SECRETS, secret } from './fixture.ts';

const script = (code: string) => ['node', '-e', code];
const read = `let s = ''; process.stdin.on('data', (c) => (s += c)).on('end', () => { const request = JSON.parse(s); `;
let folder = '';

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'proctor-command-'));
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

describe('a command agent', () => {
  it('gets the request as a line on stdin and prints its envelope', async () => {
    const answer = await invokeOnce(command, {
      command: script(
        `${read} console.log(JSON.stringify({ text: s.endsWith('}\\n') + ' ' + request.case.input, structured: request.agent })); })`,
      ),
    });
    expect(answer).toEqual({
      type: 'envelope',
      envelope: envelope({ text: 'true What is 2 + 2?', structured: agentRequest().agent as never }),
    });
  });

  it.each([
    ['four\n', 'four'],
    ['two\nlines\n\n', 'two\nlines\n'],
    ['[1, 2]\n', '[1, 2]'],
    ['{"text": broken', '{"text": broken'],
    ['', ''],
  ])('that prints %j, which is not a JSON object, answers it as text', async (printed, text) => {
    expect(await invokeOnce(command, { command: ['printf', '%s', printed] })).toEqual({
      type: 'envelope',
      envelope: envelope({ text }),
    });
  });

  it('sees the allow-listed environment, what the profile adds, and the ids', async () => {
    const env = { API_KEY: secret('KEY'), MODE: 'test' };
    const answer = await invokeOnce(command, {
      command: script(
        'console.log(JSON.stringify({ structured: process.env, metadata: { key_length: process.env.API_KEY.length } }))',
      ),
      env,
    });
    expect(answer).toMatchObject({
      envelope: {
        structured: {
          PATH: process.env['PATH'],
          HOME: '/home/of-proctor',
          API_KEY: SECRETS['KEY'],
          MODE: 'test',
          PROCTOR_RUN_ID: 'run_1',
          PROCTOR_EXECUTION_ID: 'exe_1',
          PROCTOR_ATTEMPT_ID: 'att_1',
        },
        metadata: { key_length: SECRETS['KEY']?.length },
      },
    });
    expect(JSON.stringify(answer)).not.toContain('must-not-leak');
  });

  it('runs a program of the profile’s folder, in the folder that it says', async () => {
    await writeFile(join(folder, 'agent.sh'), '#!/bin/sh\npwd\n', { mode: 0o755 });
    expect(await invokeOnce(command, { command: ['./agent.sh'], cwd: '/' }, { base_dir: folder })).toEqual({
      type: 'envelope',
      envelope: envelope({ text: '/' }),
    });
  });

  it('freezes the files of its command line', async () => {
    await writeFile(join(folder, 'agent.py'), 'print(1)');
    const config = command.config.parse({ command: ['python3', 'agent.py', '--model', 'absent.py', '/bin/sh'] });
    expect(command.code(config, folder)).toEqual(['agent.py']);
    expect(command.code(command.config.parse({ command: ['./agent.py'] }), folder)).toEqual(['agent.py']);
  });

  it.each([['proctor-no-such-program'], ['./absent.sh']])(
    '`%s` that cannot be found is refused when it is opened',
    async (program) => {
      await expect(openAgent(command, { command: [program] })).rejects.toThrow(
        `the command \`${program}\` cannot be found`,
      );
    },
  );
});

describe('a command agent that fails', () => {
  it('with an exit code keeps the end of stderr, without secrets', async () => {
    const env = { API_KEY: secret('KEY') };
    const answer = await invokeOnce(command, {
      command: ['sh', '-c', 'echo partial; echo "bad key $API_KEY" >&2; exit 3'],
      env,
    });
    expect(answer).toMatchObject({
      type: 'failure',
      fault: 'agent',
      code: 'exit_code',
      timed_out: false,
      message: expect.stringMatching(/sh` exited with code 3$/),
    });
    expect(answer).toMatchObject({
      evidence: { exit_code: 3, signal: null, stderr: 'bad key [secret KEY]\n', stdout: 'partial\n' },
    });
    expect(JSON.stringify(answer)).not.toContain(SECRETS['KEY']);
  });

  it('is charged by what happened', async () => {
    const answers = [
      await invokeOnce(command, { command: ['sh', '-c', 'kill -KILL $$'] }),
      await invokeOnce(command, { command: ['sleep', '600'] }, { timeout_ms: 100 }),
      await invokeOnce(command, { command: ['sleep', '600'] }, { signal: AbortSignal.timeout(50) }),
      await invokeOnce(command, {
        command: ['sh', '-c', 'while :; do echo xxxxxxxxxxxxxxxx; done'],
        max_output_bytes: 10_000,
      }),
      await invokeOnce(command, { command: ['sh', '-c', 'echo \'{"text":1}\''] }),
      await invokeOnce(command, { command: ['sh'], cwd: 'absent' }),
    ];
    expect(
      answers.map((answer) => (answer.type === 'failure' ? [answer.fault, answer.code, answer.timed_out] : answer)),
    ).toEqual([
      ['agent', 'killed_by_signal', false],
      ['agent', 'timeout', true],
      ['infrastructure', 'aborted', false],
      ['agent', 'oversize_output', false],
      ['agent', 'invalid_output', false],
      ['configuration', 'spawn_failed', false],
    ]);
  });

  it('by time-out leaves no grandchild behind', async () => {
    const pidFile = join(folder, 'pid');
    const answer = await invokeOnce(
      command,
      { command: ['sh', '-c', `sleep 600 & echo $! > ${pidFile}; wait`] },
      { timeout_ms: 300 },
    );
    expect(answer).toMatchObject({ code: 'timeout' });
    const stat = `/proc/${Number(readFileSync(pidFile, 'utf8'))}/stat`;
    await expect.poll(() => !existsSync(stat) || / Z /.test(readFileSync(stat, 'utf8'))).toBe(true);
  });
});
