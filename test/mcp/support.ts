import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';
import { proctor, type Running, startNode, startProctor } from '../support/chaos-process.ts';
import { temporaryFolder } from '../support/cli.ts';

/** A program of `test/mcp/fixtures`. */
export const fixture = (name: string): string => fileURLToPath(new URL(`fixtures/${name}`, import.meta.url));

/** A project of a test, in a folder that goes away with its scope. */
export interface McpProject extends AsyncDisposable {
  readonly folder: string;
}

/** Writes a project with these tools and this policy; what the sources show is pinned. */
export async function mcpProject(setting: {
  readonly tools: Readonly<Record<string, unknown>>;
  readonly policy: Readonly<Record<string, unknown>>;
  readonly project?: Readonly<Record<string, unknown>>;
  readonly pin?: readonly string[];
}): Promise<McpProject> {
  await using stack = new AsyncDisposableStack();
  const { path: folder } = stack.use(await temporaryFolder());
  const { tools, policy, project = {}, pin = [] } = setting;
  await mkdir(path.join(folder, '.proctor'));
  await writeFile(path.join(folder, 'proctor.yaml'), stringify({ version: 1, ...project, tools }));
  await writeFile(path.join(folder, 'policy.yaml'), stringify({ version: 1, ...policy }));
  for (const source of pin) {
    const { code, stderr, stdout } = await proctor(['tool', 'pin', source, '--yes'], { cwd: folder });
    if (code !== 0) throw new Error(`\`${source}\` could not be pinned: ${stdout}${stderr}`);
  }
  const owned = stack.move();
  return { folder, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** A server that listens: Proctor or a fixture. */
export interface McpServerProcess extends AsyncDisposable {
  readonly url: string;
  readonly process: Running;
}

/** Starts `proctor mcp --http` in a project; it answers when it says where. */
export async function startGateway(folder: string, ...args: readonly string[]): Promise<McpServerProcess> {
  const port = args.includes('--http') ? [] : ['--http', '0'];
  return await started(startProctor(['mcp', ...port, ...args, '--json'], { cwd: folder }), /"url":\s*"([^"]+)"/);
}

/** Starts the fixture server over HTTP. */
export async function startUpstream(folder: string): Promise<McpServerProcess> {
  return await started(startNode([fixture('upstream.ts'), 'http'], { cwd: folder }), /(http:\S+)/);
}

async function started(process: Running, where: RegExp): Promise<McpServerProcess> {
  try {
    const url = (await process.says('stdout', where))[1] ?? '';
    return { url, process, [Symbol.asyncDispose]: () => process[Symbol.asyncDispose]() };
  } catch (error) {
    await process[Symbol.asyncDispose]();
    throw error;
  }
}
