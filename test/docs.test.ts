import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { executionDocumentSchema, runDocumentSchema } from '../src/contract/documents.ts';

const root = path.resolve(import.meta.dirname, '..');
const read = (name: string) => readFileSync(path.join(root, name), 'utf8');

test('the samples in docs are what the schemas say', () => {
  const run = JSON.parse(read('docs/samples/run.json')) as unknown;
  expect(runDocumentSchema.parse(run)).toEqual(run);
  const executions = read('docs/samples/executions.jsonl')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown);
  for (const execution of executions) expect(executionDocumentSchema.parse(execution)).toEqual(execution);
});

test('every link between the pages leads somewhere', () => {
  const pages = [
    'README.md',
    'CONTRIBUTING.md',
    ...readdirSync(path.join(root, 'docs'), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.md'))
      .map((name) => `docs/${name}`),
  ];
  const broken = pages.flatMap((page) =>
    [...read(page).matchAll(/\]\(([^)#]+)(?:#[^)]*)?\)/g)]
      .map((match) => match[1] ?? '')
      .filter((link) => !/^https?:/.test(link) && !existsSync(path.resolve(root, path.dirname(page), link)))
      .map((link) => `${page} → ${link}`),
  );
  expect(broken).toEqual([]);
});

test('every command and option that the README shows exists', async () => {
  const { runCli } = await import('../src/cli/program.ts');
  const shown = [...read('README.md').matchAll(/proctor (\w+)/g)].map((match) => match[1] ?? '');
  const help: string[] = [];
  const stream = { write: (text: string) => help.push(text) > 0, isTTY: false } as unknown as NodeJS.WriteStream;
  await runCli(['--help'], { cwd: root, environment: {}, stdout: stream, stderr: stream });
  const known = [...help.join('').matchAll(/^ {2}(\w+) /gm)].map((match) => match[1]);
  expect([...new Set(shown)].filter((name) => !known.includes(name))).toEqual([]);
});
