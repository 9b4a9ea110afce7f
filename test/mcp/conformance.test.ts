import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { builtPackage } from '../support/built-package.ts';
import { endOf, proctor, startNode, startProctor } from '../support/chaos-process.ts';
import { fixture, type McpServerProcess, mcpProject, startGateway, startUpstream } from './support.ts';

/**
 * The conformance suite of MCP against Proctor, offline, in both revisions: as proxy before a fixture server (`--raw-source`: its tools
 * under their own names), as server in its own right (`source__tool`), and as client. What fails is listed in the `expected-failures`
 * files, by kind; the suite fails for an entry that passes.
 */
const REVISIONS = ['2025-11-25', '2026-07-28'] as const;
type Revision = (typeof REVISIONS)[number];

const SUITE = fileURLToPath(
  new URL('../../node_modules/@modelcontextprotocol/conformance/dist/index.js', import.meta.url),
);
const EVERYTHING = { rules: [{ id: 'all', effect: 'allow' }] };
const RELAYED = { kind: 'mcp', risk: 'read_only', relay: ['elicitation', 'sampling', 'roots'] };
const KINDS =
  /^(prompts|resources|completion|tasks|caching:sep-2549-(prompts|resources)|sep-2164-resource|input-required-result-non-tool-request)/;
/** Run by the suite without being scored; it says itself that its own server cannot pass: the server has to cut its stream on a tool's word. */
const NOT_SCORED = ['server-sse-polling'];

interface Report {
  readonly code: number | null;
  readonly text: string;
  readonly passed: readonly string[];
  readonly failed: readonly string[];
  readonly checks: number;
}

/** Runs the suite to its end. */
async function suite(...args: readonly string[]): Promise<Report> {
  // The suite runs its client scenarios all at once, each with a process of its own.
  const environment = { NODE_COMPILE_CACHE: path.join(tmpdir(), 'proctor-test-compile-cache') };
  await using run = startNode([SUITE, ...args, '--timeout', '100000'], { cwd: tmpdir(), environment });
  const { code } = await run.exit;
  const text = `${run.stdout()}\n${run.stderr()}`;
  const marked = (mark: string) =>
    [...text.matchAll(new RegExp(`^${mark} ([\\w/.-]+):`, 'gm'))].map((line) => line[1] ?? '');
  const checks = Number(/^Total: (\d+) passed/m.exec(text)?.[1] ?? /^Passed: (\d+)\//m.exec(text)?.[1] ?? 0);
  return { code, text, passed: marked('✓'), failed: marked('✗'), checks };
}

const baseline = (revision: Revision) => fileURLToPath(new URL(`expected-failures.${revision}.yaml`, import.meta.url));
const requirements = (revision: Revision) => ['--requirements', revision, '--expected-failures', baseline(revision)];

async function listed(revision: Revision, role: 'server' | 'client'): Promise<string[]> {
  return (parse(await readFile(baseline(revision), 'utf8')) as Record<string, string[]>)[role] ?? [];
}

describe.each(REVISIONS)('%s', (revision) => {
  test('only prompts, resources, completions and tasks are listed as failing', async () => {
    const entries = await listed(revision, 'server');
    expect(entries.filter((entry) => !KINDS.test(entry))).toEqual([]);
    expect(await listed(revision, 'client')).toEqual([]);
  });
});

/** Which upstream, and which revisions its questions can be asked in: one of the older era names no questions, as the newer one wants. */
const UPSTREAMS = [
  ['over HTTP', (url: string) => ({ url }), REVISIONS],
  ['over stdio', () => ({ command: [process.execPath, fixture('upstream.ts'), 'stdio'] }), REVISIONS],
  ['over HTTP in the older era', (url: string) => ({ url, protocol: '2025-11-25' }), ['2025-11-25']],
  [
    'over stdio in the older era',
    () => ({ command: [process.execPath, fixture('upstream.ts'), 'stdio'], protocol: '2025-11-25' }),
    ['2025-11-25'],
  ],
] as const;

describe.each(UPSTREAMS)('as proxy before a server %s', (_, source, revisions) => {
  const stack = new AsyncDisposableStack();
  let gateway: McpServerProcess;

  beforeAll(async () => {
    const upstream = stack.use(await startUpstream(tmpdir()));
    const tools = { fixture: { ...RELAYED, ...source(upstream.url) } };
    const { folder } = stack.use(await mcpProject({ tools, policy: EVERYTHING, pin: ['fixture'] }));
    gateway = stack.use(await startGateway(folder, '--raw-source', 'fixture', '--anonymous'));
  });
  afterAll(() => stack.disposeAsync());

  test.each(revisions)('what %s requires', async (revision) => {
    const { code, text, passed, failed, checks } = await suite(
      'server',
      '--url',
      gateway.url,
      ...requirements(revision),
    );
    const expected = (await listed(revision, 'server')).map((entry) => entry.split(':')[0]);
    const lost = failed.filter((name) => !expected.includes(name) && !NOT_SCORED.includes(name));
    // A scenario that a busy machine was too slow for is asked once more alone.
    for (const name of lost) {
      const alone = await suite('server', '--url', gateway.url, '--scenario', name, '--spec-version', revision);
      expect(alone.code, `${name}: ${alone.text}`).toBe(0);
    }
    if (lost.length === 0) expect(code, text).toBe(0);
    expect(passed.length).toBeGreaterThan(17);
    expect(checks).toBeGreaterThan(60);
  });
});

/** What the suite asks of a server whatever its tools are called. */
const WHATEVER_THE_TOOLS = {
  '2025-11-25': [
    'server-initialize',
    'server-session-lifecycle',
    'ping',
    'logging-set-level',
    'tools-list',
    'server-sse-multiple-streams',
    'dns-rebinding-protection',
  ],
  '2026-07-28': [
    'tools-list',
    'server-sse-multiple-streams',
    'dns-rebinding-protection',
    'http-header-validation',
    'input-required-result-unsupported-methods',
  ],
} as const;

describe('as server, its tools under their full names', () => {
  const stack = new AsyncDisposableStack();
  let gateway: McpServerProcess;

  beforeAll(async () => {
    const module = new URL('../../examples/assistant/tools/speaker.ts', import.meta.url);
    const { folder } = stack.use(
      await mcpProject({
        tools: {
          speaker: { kind: 'module', path: fileURLToPath(module), config: { location: 'http://127.0.0.1:9/' } },
        },
        policy: EVERYTHING,
      }),
    );
    gateway = stack.use(await startGateway(folder, '--anonymous'));
  });
  afterAll(() => stack.disposeAsync());

  const scenarios = REVISIONS.flatMap((revision) =>
    WHATEVER_THE_TOOLS[revision].map((name) => [revision, name] as const),
  );
  test.each(scenarios)('%s: %s', async (revision, name) => {
    const { code, text, checks } = await suite(
      'server',
      ...['--url', gateway.url],
      ...['--scenario', name],
      ...['--spec-version', revision],
    );
    expect(code, text).toBe(0);
    expect(checks).toBeGreaterThan(0);
  });
});

describe('as client', () => {
  test.each(REVISIONS)('what %s requires, sign-ins too', async (revision) => {
    const command = [process.execPath, '--disable-warning=ExperimentalWarning', builtPackage().other('client')].join(
      ' ',
    );
    const client = (...more: readonly string[]) => suite('client', '--command', command, ...more);
    const { code, text, passed, failed, checks } = await client(...requirements(revision));
    // Extensions that are not scored: grants without a person, proofs of possession.
    const lost = failed.filter((name) => !/^auth\/(client-credentials|enterprise|dpop|wif)/.test(name));
    // All at once they may be too much for a busy machine: what did not get through is asked once more alone.
    for (const name of lost) {
      const alone = await client('--scenario', name, '--spec-version', revision);
      expect(alone.code, `${name}: ${alone.text}`).toBe(0);
    }
    if (lost.length === 0) expect(code, text).toBe(0);
    expect(passed.filter((name) => name.startsWith('auth/')).length).toBeGreaterThan(13);
    expect(checks).toBeGreaterThan(300);
  });
});

describe('without a token', () => {
  test('nobody calls who is not let in on the command line, and that only on loopback', async () => {
    await using project = await mcpProject({ tools: {}, policy: EVERYTHING });
    await using gateway = await startGateway(project.folder);
    const { status } = await fetch(gateway.url, { method: 'POST', body: '{}' });
    expect(status).toBe(401);
    const open = await proctor(['mcp', '--http', '0', '--anonymous', '--open-to', '0.0.0.0'], { cwd: project.folder });
    expect(open).toMatchObject({ code: 2, stderr: expect.stringContaining('for loopback only') });
  });

  test('a name for the caller is refused where tokens say who calls', async () => {
    const project = { principals: [{ id: 'agent:desk', token: `\${secret:DESK_TOKEN}` }] };
    await using desk = await mcpProject({ tools: {}, policy: EVERYTHING, project });
    const { code, stderr } = await proctor(['mcp', '--http', '0', '--as', 'agent:anyone'], { cwd: desk.folder });
    expect([code, stderr]).toEqual([2, expect.stringContaining('the tokens of agent:desk in proctor.yaml say who')]);
  });

  test('a message whose members stand twice is refused, over HTTP and over standard streams', async () => {
    await using project = await mcpProject({ tools: {}, policy: EVERYTHING });
    await using gateway = await startGateway(project.folder, '--anonymous');
    const call = '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"a","arguments":{"day":1,"day":2}}}';
    const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
    const response = await fetch(gateway.url, { method: 'POST', headers, body: call });
    const refused = { id: 7, error: { code: -32_600, message: expect.stringContaining('`day`') } };
    expect([response.status, await response.json()]).toMatchObject([400, refused]);

    await using stdio = startProctor(['mcp'], { cwd: project.folder });
    stdio.write(`${call}\nno JSON\n`);
    const answers = [await stdio.says('stdout', /^.*-32600.*$/m), await stdio.says('stdout', /^.*-32700.*$/m)];
    expect(JSON.parse(answers[0]?.[0] ?? '')).toMatchObject(refused);
    expect(stdio.stderr()).toContain('a message was refused');
    stdio.kill('SIGTERM'); // its standard input stays open
    await endOf(stdio);

    const large = await fetch(gateway.url, {
      method: 'POST',
      headers,
      body: JSON.stringify({ a: 'x'.repeat(5_000_000) }),
    });
    expect([large.status, await large.json()]).toMatchObject([413, { error: { code: -32_600 } }]);
    expect(gateway.process.stderr()).not.toContain('a request failed');
  });

  test('who is let in calls as the agent, and answers no approvals', async () => {
    await using project = await mcpProject({ tools: {}, policy: EVERYTHING });
    await using gateway = await startGateway(project.folder, '--anonymous', '--as', 'agent:anyone');
    expect(gateway.process.stderr()).toContain('may call tools as agent:anyone, without a token');
    const { status } = await fetch(new URL('/api/approvals', gateway.url));
    expect(status).toBe(403);
  });
});
