import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { type CliResult, proctor, proctorProcess, temporaryFolder } from './cli.ts';

/** A project in a temporary folder with a module of tools and a policy. */
export interface ToolProject extends AsyncDisposable {
  readonly path: string;
  write(name: string, text: string): Promise<void>;
  /** Runs `proctor …` in the project with `--json`, and reads what it printed. */
  json<Document>(argv: readonly string[]): Promise<Said<Document>>;
  /** The same in a process of its own. */
  jsonProcess<Document>(argv: readonly string[]): Promise<Said<Document>>;
}

/** What a command printed with `--json`. */
interface Said<Document> {
  readonly code: number | null;
  readonly documents: Document[];
  readonly stderr: string;
}

/** Tools that leave a line in `done.log` for every time they run. */
export const LOGGED_TOOLS = `import { appendFileSync } from 'node:fs';
import path from 'node:path';
const done = (line) => appendFileSync(path.join(import.meta.dirname, 'done.log'), line + '\\n');
const text = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'], additionalProperties: false };
export const tools = {
  read: { description: 'reads', risk: 'read_only', input_schema: text, run: ({ text }) => { done('read ' + text); return { read: text }; } },
  write: { description: 'writes', risk: 'write', input_schema: text, run: ({ text }) => { done('write ' + text); return 'written ' + text; } },
  slow: { description: 'slow', risk: 'read_only', input_schema: { type: 'object' }, run: async (_, { signal }) => { done('slow'); await new Promise((resolve, reject) => { setTimeout(resolve, 60000); signal.addEventListener('abort', () => reject(signal.reason)); }); } },
  fails: { description: 'fails', risk: 'read_only', input_schema: { type: 'object', additionalProperties: false }, run: () => { throw new Error('the printer is on fire'); } },
};
`;

/** Reading is allowed, writing is asked for (one may answer for oneself), the rest is denied. */
export const ASKING_POLICY = `version: 1
approvals: { self_approval: true }
rules:
  - { id: reading, when: { risk: read_only }, effect: allow }
  - { id: writing, when: { risk: write }, effect: { ask: { edit: true } } }
  - { id: nothing-secret, tools: [box.read, box.write], when: { args.text: { glob: "*secret*" } }, effect: { deny: { reason: "secrets stay here" } } }
`;

/** Opens the project; \`policy\` and \`tools\` in place of the usual ones. */
export async function toolProject(more: { policy?: string; project?: string } = {}): Promise<ToolProject> {
  const folder = await temporaryFolder();
  const write = async (name: string, text: string) => {
    await mkdir(path.dirname(path.join(folder.path, name)), { recursive: true });
    await writeFile(path.join(folder.path, name), text);
  };
  await write('box.mjs', LOGGED_TOOLS);
  await write('policy.yaml', more.policy ?? ASKING_POLICY);
  await write('proctor.yaml', more.project ?? 'version: 1\ntools: { box: { kind: module, path: box.mjs } }\n');
  return {
    path: folder.path,
    write,
    json: async (argv) => read(await proctor(folder.path, [...argv, '--json'])),
    jsonProcess: async (argv) => read(await proctorProcess(folder.path, [...argv, '--json'])),
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}

function read<Document>({ code, stdout, stderr }: CliResult): Said<Document> {
  const lines = stdout.split('\n').filter((line) => line !== '');
  return { code, documents: lines.map((line) => JSON.parse(line) as Document), stderr };
}
