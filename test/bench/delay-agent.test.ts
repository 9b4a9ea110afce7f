import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface, type Interface } from 'node:readline';
import { expect, test } from 'vitest';
import { bracketed } from '../support/waiting.ts';

interface Started extends AsyncDisposable {
  readonly url: string;
  stop(): Promise<unknown>;
}

test('a request is answered with the text of the case input after the delay', async () => {
  await using agent = await start('--delay-ms', '120');
  const { from, to } = await bracketed(async () => {
    expect(await invoke(agent.url, JSON.stringify({ case: { case_id: '1', input: 'hello' } }))).toEqual([
      200,
      { text: 'hello' },
    ]);
  });
  expect(to).toBeGreaterThanOrEqual(from + 119);
  expect(await invoke(agent.url, JSON.stringify({ case: { input: { text: 'nested' } } }))).toEqual([
    200,
    { text: 'nested' },
  ]);
});

test('a request without text is refused with the reason', async () => {
  await using agent = await start('--delay-ms', '0');
  expect(await invoke(agent.url, JSON.stringify({ case: { input: 7 } }))).toEqual([
    400,
    { error: '`case.input` is neither text nor an object with `text`' },
  ]);
  expect((await invoke(agent.url, 'nonsense'))[0]).toBe(400);
  expect((await invoke(agent.url, ' '.repeat(1024 * 1024 + 1)))[0]).toBe(413);
});

test('the requests and the most at once are printed at the end', async () => {
  await using agent = await start('--delay-ms', '150');
  const body = JSON.stringify({ case: { input: 'x' } });
  await Promise.all(Array.from({ length: 5 }, () => invoke(agent.url, body)));
  await invoke(agent.url, body);
  expect(await agent.stop()).toEqual({ requests: 6, max_concurrent: 5, cpu_ms: expect.any(Number) });
});

async function start(...args: string[]): Promise<Started> {
  const child = spawn(process.execPath, ['bench/fixtures/delay-agent.ts', ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: child.stdout });
  const { url } = (await next(lines)) as { url: string };
  return {
    url,
    async stop() {
      const last = next(lines);
      child.kill('SIGTERM');
      return await last;
    },
    [Symbol.asyncDispose]: () => end(child),
  };
}

async function next(lines: Interface): Promise<unknown> {
  const [line] = (await once(lines, 'line')) as [string];
  return JSON.parse(line);
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}

async function invoke(url: string, body: string): Promise<[number, unknown]> {
  const response = await fetch(url, { method: 'POST', body });
  return [response.status, await response.json()];
}
