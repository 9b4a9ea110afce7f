import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { describe, expect, test } from 'vitest';
import { proctor, startNode } from '../support/chaos-process.ts';
import { temporaryFolder } from '../support/cli.ts';
import { eventually } from '../support/waiting.ts';
import {
  bearer,
  firstSdkOverHttp,
  type HostClient,
  OVER_HTTP,
  OVER_STDIO,
  program,
  type Result,
  sdkClient,
  sdkOverHttp,
  sdkOverStdio,
  TOOL,
} from './host-clients.ts';
import { type McpServerProcess, startGateway } from './support.ts';

/**
 * Clients that others wrote call a gated tool, a person answers by `proctor approve` in another process, and the device proves how often
 * it was told: the SDK's client in both eras, its first version and the AI SDK's, over HTTP and stdio, also with the server killed meanwhile.
 */
const EXAMPLE = fileURLToPath(new URL('../../examples/assistant', import.meta.url));

/** The example with its device, and nothing else changed. */
async function assistant() {
  await using stack = new AsyncDisposableStack();
  const { path: folder } = stack.use(await temporaryFolder());
  await cp(EXAMPLE, folder, { recursive: true });
  await mkdir(path.join(folder, '.proctor'));
  const device = stack.use(startNode([path.join(EXAMPLE, 'speaker-device.ts'), '0'], { cwd: folder }));
  const location = (await device.says('stdout', /speaker (\S+)/))[1] ?? '';
  const file = path.join(folder, 'proctor.yaml');
  await writeFile(file, (await readFile(file, 'utf8')).replace(/http:\/\/[^"]*description\.xml/, location));
  const owned = stack.move();
  return {
    folder,
    device,
    /** The volumes that the device was set to, in order. */
    volumes: () => [...device.stdout().matchAll(/^volume (\d+)$/gm)].map((line) => Number(line[1])),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

const run = async (folder: string, ...args: readonly string[]) => await proctor([...args, '--json'], { cwd: folder });

/** What waits for an answer now, as another process sees it. */
async function waiting(folder: string): Promise<string[]> {
  const { stdout, stderr, code } = await run(folder, 'approvals');
  expect(code, stderr).toBe(0);
  return stdout
    .split('\n')
    .flatMap((line) => (line === '' ? [] : [(JSON.parse(line) as { approval_id: string }).approval_id]));
}

async function approve(folder: string): Promise<void> {
  const id = await eventually('a call waits', async () => (await waiting(folder))[0] ?? null);
  const { code, stdout, stderr } = await run(folder, 'approve', id);
  expect(code, stdout + stderr).toBe(0);
}

/** What the gateway says instead of a result, as a model reads it. */
function told({ isError, content }: Result): { status?: string; code?: string } {
  return isError === true ? (JSON.parse(content?.[0]?.text ?? '{}') as { status?: string }) : {};
}

const isPending = (result: Result) => told(result).status === 'approval_pending';

/** As a host does: who is told that nothing is decided yet, or loses the connection, makes the identical call again. */
async function untilAnswered(connect: () => Promise<HostClient>, volume: number): Promise<Result> {
  let failure: unknown;
  return await eventually('an answer', async () => {
    try {
      await using client = await connect();
      for (;;) {
        const result = await client.call(volume);
        if (!isPending(result)) return result;
      }
    } catch (error) {
      failure = error; // its server is gone, for now
      return null;
    }
  }).catch((error: Error) => {
    throw new Error(error.message, { cause: failure });
  });
}

const token = async (folder: string) =>
  (await readFile(path.join(folder, '.proctor', 'private', 'agent-token'), 'utf8')).trim();

function toBeSet(result: Result, volume: number): void {
  expect(result).toMatchObject({ structuredContent: { volume } });
  expect(result.isError ?? false).toBe(false);
}

describe.concurrent('over HTTP', () => {
  test.each(OVER_HTTP)('%s client waits for the answer of a person', async (_, connect) => {
    await using home = await assistant();
    await using gateway = await startGateway(home.folder, '--hold-ms', '3000');
    const where = { folder: home.folder, url: gateway.url, token: await token(home.folder) };

    const [result] = await Promise.all([untilAnswered(() => connect(where), 25), approve(home.folder)]);

    toBeSet(result, 25);
    expect(home.volumes()).toEqual([25]);
  });

  test.each(OVER_HTTP)(
    '%s client gets the one call although the server is killed while it waits',
    async (_, connect) => {
      await using home = await assistant();
      const first = await startGateway(home.folder, '--hold-ms', '30000');
      const where = { folder: home.folder, url: first.url, token: await token(home.folder) };
      const result = untilAnswered(() => connect(where), 25);
      result.catch(() => undefined); // it is awaited below
      await eventually('the call waits', async () => (await waiting(home.folder))[0] ?? null);

      await killed(first);
      await approve(home.folder); // while there is no server
      await using _second = await startGateway(home.folder, '--http', new URL(first.url).port, '--hold-ms', '30000');

      toBeSet(await result, 25);
      expect(home.volumes()).toEqual([25]);
      expect(await toolRuns(home.folder)).toEqual(['ok']);
    },
  );
});

test('a client of 2026-07-28 comes back by itself to the server that was started again', async () => {
  await using home = await assistant();
  const first = await startGateway(home.folder, '--hold-ms', '1000');
  // As HTTP libraries do: a request that got no answer is sent again, and here that is the leg with what the server had sealed.
  let legs = 0;
  const again = async (input: string | URL, init?: RequestInit): Promise<Response> => {
    legs += 1;
    for (let effort = 0; ; effort += 1) {
      try {
        return await fetch(input, init);
      } catch (error) {
        if (effort > 600 || init?.signal?.aborted === true) throw error;
        await sleep(100);
      }
    }
  };
  const headers = bearer(await token(home.folder));
  const transport = new StreamableHTTPClientTransport(new URL(first.url), { requestInit: { headers }, fetch: again });
  await using client = await sdkClient('auto', transport);
  const result = client.call(25);
  result.catch(() => undefined); // it is awaited below
  await eventually('the call waits', async () => (await waiting(home.folder))[0] ?? null);
  const asked = legs;
  await eventually('the next leg, which carries what the first server sealed', () => (legs > asked ? true : null));

  await killed(first);
  await using _second = await startGateway(home.folder, '--http', new URL(first.url).port, '--hold-ms', '3000');
  await approve(home.folder);

  toBeSet(await result, 25);
  expect(home.volumes()).toEqual([25]);
  expect(await toolRuns(home.folder)).toEqual(['ok']);
});

describe.concurrent('over stdio', () => {
  test.each(OVER_STDIO)('%s client waits for the answer of a person', async (_, connect) => {
    await using home = await assistant();
    const where = { folder: home.folder, url: '', token: '' };

    const [result] = await Promise.all([untilAnswered(() => connect(where), 35), approve(home.folder)]);

    toBeSet(result, 35);
    expect(home.volumes()).toEqual([35]);
  });
});

test('who is denied is told so, and the device hears nothing', async () => {
  await using home = await assistant();
  await using gateway = await startGateway(home.folder, '--hold-ms', '3000');
  const where = { folder: home.folder, url: gateway.url, token: await token(home.folder) };
  const answer = async () => {
    const id = await eventually('a call waits', async () => (await waiting(home.folder))[0] ?? null);
    await run(home.folder, 'deny', id, '--comment', 'it is night');
  };

  for (const connect of [sdkOverHttp('auto'), firstSdkOverHttp]) {
    const [result] = await Promise.all([untilAnswered(() => connect(where), 25), answer()]);
    expect(told(result)).toMatchObject({ status: 'denied', code: 'approval_denied' });
    await using client = await connect(where);
    expect(told(await client.call(90)), 'policy denies it').toMatchObject({ status: 'denied', code: 'policy' });
    expect(told(await client.call(1.5))).toMatchObject({ status: 'error', code: 'invalid_arguments' });
  }
  expect(home.volumes()).toEqual([]);
});

test('the first thing that a project is asked is what tools it has: it shows them', async () => {
  await using home = await assistant();
  const client = new Client({ name: 'host', version: '1' });
  await client.connect(new StdioClientTransport({ ...program(home.folder), stderr: 'ignore' }));
  const { tools } = await client.listTools();
  await client.close();
  expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(['speaker__get_volume', TOOL]));
});

test('who asks again after a person changed the call gets what it came to once; then it is asked anew', async () => {
  await using home = await assistant();
  const client = await sdkOverStdio('legacy')({ folder: home.folder, url: '', token: '' });
  await using _client = client;
  const edit = async () => {
    const id = await eventually('a call waits', async () => (await waiting(home.folder))[0] ?? null);
    await run(home.folder, 'approve', id, '--edit', '{"volume":11}');
  };
  const [first] = await Promise.all([
    untilAnswered(async () => ({ ...client, [Symbol.asyncDispose]: async () => undefined }), 33),
    edit(),
  ]);
  toBeSet(first, 11);
  expect(JSON.stringify(first.content)).toContain('a person changed the arguments');

  expect(isPending(await client.call(33)), 'asked anew').toBe(true);
  expect(home.volumes()).toEqual([11]);
});

/** `kill -9`, as a machine that goes down. */
async function killed({ process: { kill, exit } }: McpServerProcess): Promise<void> {
  kill('SIGKILL');
  await exit;
}

async function toolRuns(folder: string): Promise<string[]> {
  const { stdout } = await run(folder, 'tool', 'ls', '--runs');
  return stdout.split('\n').flatMap((line) => (line === '' ? [] : [(JSON.parse(line) as { status: string }).status]));
}
