import { getEventListeners } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runProcess } from '../../src/lib/process.ts';

const env = { PATH: process.env['PATH'] ?? '/usr/bin:/bin' };
const node = (code: string) => [process.execPath, '-e', code];
let folder = '';

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'proctor-process-'));
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

describe('a process that ends by itself', () => {
  it('gives its output, its exit code and the message', async () => {
    const result = await runProcess(['sh', '-c', 'cat; echo warned >&2; exit 3'], { env, stdin: 'héllo' });
    expect({ ...result, stdout: result.stdout.toString(), duration_ms: 0 }).toEqual({
      reason: 'exit',
      exit_code: 3,
      signal: null,
      stdout: 'héllo',
      stderr: 'warned\n',
      duration_ms: 0,
      message: '`sh` exited with code 3',
      spawn_code: null,
    });
    expect(result.duration_ms).toBeGreaterThanOrEqual(0);
  });

  it('inherits nothing of the environment that is not given', async () => {
    const result = await runProcess(node('process.stdout.write(JSON.stringify(Object.keys(process.env)))'), {
      env: { ONLY: 'this' },
    });
    expect(result.stdout.toString()).toBe('["ONLY"]');
  });

  it('reports the signal that ended it', async () => {
    const result = await runProcess(['sh', '-c', 'kill -SEGV $$'], { env });
    expect([result.reason, result.exit_code, result.signal, result.message]).toEqual([
      'exit',
      null,
      'SIGSEGV',
      '`sh` was ended by SIGSEGV',
    ]);
  });

  it('may leave an input of many megabytes unread', async () => {
    const result = await runProcess(['sh', '-c', 'exit 0'], { env, stdin: Buffer.alloc(8 * 1024 * 1024, 97) });
    expect([result.reason, result.exit_code]).toEqual(['exit', 0]);
  });

  it('gives every byte of a large output, up to the limit itself', async () => {
    const size = 5 * 1024 * 1024;
    const result = await runProcess(node(`process.stdout.write(Buffer.alloc(${size}, 98))`), {
      env,
      max_stdout_bytes: size,
    });
    expect([result.reason, result.stdout.length, result.stdout.every((byte) => byte === 98)]).toEqual([
      'exit',
      size,
      true,
    ]);
  });

  it('keeps the end of stderr', async () => {
    const code = "for (let i = 0; i < 20000; i += 1) process.stderr.write('line ' + i + '\\n')";
    const result = await runProcess(node(code), { env, max_stderr_bytes: 21 });
    expect(result.stderr).toBe('line 19998\nline 19999'.slice(-20).concat('\n'));
  });

  it('takes the rest of its group with it, so that a grandchild cannot hold the pipe', async () => {
    const pidFile = join(folder, 'pid');
    const result = await runProcess(['sh', '-c', `sleep 600 & echo $! > ${pidFile}; echo done`], { env });
    expect([result.reason, result.exit_code, result.stdout.toString()]).toEqual(['exit', 0, 'done\n']);
    await gone(pidFile);
  });

  it('is not held up by a descendant that left the group and keeps the pipe open', async () => {
    const pidFile = join(folder, 'pid');
    const runaway = `const c = require('node:child_process').spawn('sleep', ['600'], { detached: true, stdio: 'inherit' });
      require('node:fs').writeFileSync(${JSON.stringify(pidFile)}, String(c.pid)); c.unref(); process.stdout.write('out')`;
    const result = await runProcess(node(runaway), { env });
    process.kill(Number(readFileSync(pidFile, 'utf8')), 'SIGKILL');
    expect([result.reason, result.exit_code, result.stdout.toString()]).toEqual(['exit', 0, 'out']);
  });
});

describe('a process that is ended', () => {
  it('is killed with its grandchildren at the time limit although they ignore SIGTERM', async () => {
    const pidFile = join(folder, 'pid');
    const script = `trap '' TERM; sh -c 'trap "" TERM; echo $$ > ${pidFile}; while :; do sleep 0.05; done' & while :; do sleep 0.05; done`;
    const result = await runProcess(['sh', '-c', script], { env, timeout_ms: 400 });
    expect([result.reason, result.exit_code, result.signal]).toEqual(['timeout', null, 'SIGKILL']);
    expect(result.message).toBe('`sh` did not end within 400 ms and was killed with its process group');
    expect(result.duration_ms).toBeGreaterThanOrEqual(1_390);
    await gone(pidFile);
  });

  it('may end in order on SIGTERM, and what it wrote stays', async () => {
    const code = `process.on('SIGTERM', () => { process.stdout.write('bye', () => process.exit(0)); }); process.stdout.write('hi '); setInterval(() => {}, 1000)`;
    const result = await runProcess(node(code), { env, timeout_ms: 700 });
    expect([result.reason, result.exit_code, result.stdout.toString()]).toEqual(['timeout', 0, 'hi bye']);
  });

  it('is killed when it writes more than the limit, and the excess is not kept', async () => {
    const result = await runProcess(['sh', '-c', 'while :; do echo yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy; done'], {
      env,
      max_stdout_bytes: 100_000,
    });
    expect(result.reason).toBe('oversize');
    expect(result.stdout.length).toBeLessThanOrEqual(100_000);
    expect(result.message).toContain('more than 100000 bytes');
  });

  it('is killed when the signal aborts, and leaves no listener on it', async () => {
    const controller = new AbortController();
    const pidFile = join(folder, 'pid');
    const running = runProcess(['sh', '-c', `echo $$ > ${pidFile}; exec sleep 600`], {
      env,
      signal: controller.signal,
    });
    while (!existsSync(pidFile) || readFileSync(pidFile, 'utf8') === '')
      await new Promise((next) => setTimeout(next, 5));
    controller.abort(new Error('cancelled'));
    const result = await running;
    expect([result.reason, result.signal]).toEqual(['aborted', 'SIGTERM']);
    expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
    await gone(pidFile);
  });

  it('is not started when the signal has aborted already', async () => {
    const result = await runProcess(['sh', '-c', `touch ${join(folder, 'ran')}`], { env, signal: AbortSignal.abort() });
    expect([result.reason, existsSync(join(folder, 'ran'))]).toEqual(['aborted', false]);
  });
});

describe('a process that cannot be started', () => {
  it('is a result with the system’s code', async () => {
    const results = [
      await runProcess(['proctor-no-such-program'], { env }),
      await runProcess(['sh'], { env, cwd: join(folder, 'missing') }),
      await runProcess(['sh', 'nul\0byte'], { env }),
      await runProcess([], { env }),
    ];
    expect(results.map((result) => [result.reason, result.spawn_code])).toEqual([
      ['spawn_failed', 'ENOENT'],
      ['spawn_failed', 'ENOENT'],
      ['spawn_failed', 'ERR_INVALID_ARG_VALUE'],
      ['spawn_failed', 'ERR_INVALID_ARG_VALUE'],
    ]);
    expect(results[1]?.message).toContain(`in \`${join(folder, 'missing')}\``);
  });
});

/** Waits until the process whose id is in the file is gone or a zombie that nobody but init can reap. */
async function gone(pidFile: string): Promise<void> {
  const pid = Number(readFileSync(pidFile, 'utf8'));
  expect(pid).toBeGreaterThan(1);
  await expect.poll(() => alive(pid), { interval: 10 }).toBe(false);
}

function alive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  const stat = `/proc/${pid}/stat`;
  return !existsSync(stat) || !/\) Z /.test(readFileSync(stat, 'utf8'));
}
