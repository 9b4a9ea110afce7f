import { readdir, readFile, stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import path from 'node:path';
import { expect, test } from 'vitest';
import { endOf, proctor, startProctor } from '../support/chaos-process.ts';
import { freePort } from './free-port.ts';
import { type ProtectedServer, protectedServer } from './protected-server.ts';
import { type McpProject, mcpProject } from './support.ts';

interface SignInProject extends McpProject {
  readonly server: ProtectedServer;
  readonly port: number;
}

/** A project whose one source is behind a sign-in. */
async function project(): Promise<SignInProject> {
  await using stack = new AsyncDisposableStack();
  const server = stack.use(await protectedServer());
  const port = await freePort();
  const tools = { books: { kind: 'mcp', url: server.url, oauth: { redirect_port: port } } };
  const { folder } = stack.use(await mcpProject({ tools, policy: { rules: [{ id: 'all', effect: 'allow' }] } }));
  const owned = stack.move();
  return { folder, server, port, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

const run = async (folder: string, ...args: readonly string[]) => await proctor(['tool', ...args], { cwd: folder });

/** `proctor tool login books`, up to the page; the rest is what `browse` does with it. */
async function login(folder: string, browse: (page: string) => Promise<unknown>) {
  await using command = startProctor(['tool', 'login', 'books', '--json'], { cwd: folder });
  const page = (await command.says('stderr', /^ +(http\S+)/m))[1] ?? '';
  await browse(page);
  const { code } = await endOf(command);
  return { code, stdout: command.stdout(), stderr: command.stderr() };
}

test('a person signs in; the credentials are in a file of their owner, and nowhere else', async () => {
  await using at = await project();
  const before = await run(at.folder, 'ls');
  expect(before).toMatchObject({ code: 3, stderr: expect.stringContaining('proctor tool login books') });

  const signedIn = await login(at.folder, async (page) => {
    // A callback that was made up neither signs in nor ends the sign-in.
    const forged = await fetch(`http://127.0.0.1:${at.port}/callback?code=mine&state=guessed`);
    expect(forged.status).toBe(400);
    expect((await fetch(`http://127.0.0.1:${at.port}/`)).status).toBe(404);
    const back = await fetch(page);
    expect([back.status, new URL(back.url).port]).toEqual([200, String(at.port)]);
  });
  expect(signedIn.code, signedIn.stderr).toBe(0);
  expect(JSON.parse(signedIn.stdout)).toEqual({ source: 'books', outcome: 'signed_in' });

  const after = await run(at.folder, 'ls');
  expect(after).toMatchObject({ code: 0, stdout: expect.stringContaining('books.whoami') });
  const kept = path.join(at.folder, '.proctor', 'private', 'oauth-books.json');
  expect((await stat(kept)).mode & 0o777).toBe(0o600);
  const credentials = await readFile(kept, 'utf8');
  const [token = ''] = at.server.valid;
  expect(credentials).toContain(token);
  expect(Object.keys((JSON.parse(credentials) as { issuers: object }).issuers)).toEqual([
    new URL(at.server.url).origin,
  ]);
  expect(await holders(at.folder, token)).toEqual([kept]);
  expect(before.stderr + signedIn.stderr + signedIn.stdout + after.stdout + after.stderr).not.toContain(token);

  const again = await run(at.folder, 'login', 'books');
  expect(again).toMatchObject({ code: 0, stdout: expect.stringContaining('no sign-in is wanted') });
});

test('an access token that is not valid any more is renewed without a person', async () => {
  await using at = await project();
  await login(at.folder, fetch);
  at.server.valid.clear();

  expect(await run(at.folder, 'ls')).toMatchObject({ code: 0, stdout: expect.stringContaining('books.whoami') });
  expect(at.server.grants).toEqual(['authorization_code', 'refresh_token']);
});

test('who refuses at the page is told that, and nothing is kept', async () => {
  await using at = await project();
  at.server.refuse = true;

  const { code, stderr, stdout } = await login(at.folder, fetch);

  expect(code).toBe(3);
  expect(stdout + stderr).toContain('access_denied: the person said no');
  expect(await run(at.folder, 'ls')).toMatchObject({ code: 3, stderr: expect.stringContaining('wants a sign-in') });
});

test('what stands in the way of a sign-in is told', async () => {
  await using at = await project();
  const taken = createServer();
  await new Promise<void>((listening) => {
    taken.listen(at.port, '127.0.0.1', () => listening());
  });
  const blocked = await run(at.folder, 'login', 'books');
  taken.close();
  expect(blocked).toMatchObject({ code: 3, stderr: expect.stringMatching(/port \d+.*oauth\.redirect_port/) });

  expect(await run(at.folder, 'login', 'films')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('no tool source'),
  });
  await using open = await mcpProject({ tools: { plain: { kind: 'mcp', url: at.server.url } }, policy: {} });
  expect(await run(open.folder, 'login', 'plain')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('has no sign-in'),
  });
});

/** The files of a project that hold a text. */
async function holders(folder: string, text: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => path.join(entry.parentPath, entry.name));
  const found = await Promise.all(files.map(async (file) => (await readFile(file)).includes(text)));
  return files.filter((_, index) => found[index]);
}
