import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';

const src = path.resolve(import.meta.dirname, '../src');

/** Each folder with what it may import besides itself (DESIGN §4); `config.ts` and `app.ts` are the composition root. */
const LAYERS: Readonly<Record<string, readonly string[]>> = {
  lib: [],
  contract: [],
  core: ['contract', 'lib'],
  store: ['core', 'contract', 'lib'],
  artifacts: ['core', 'contract', 'lib'],
  adapters: ['core', 'contract', 'lib'],
  engine: ['store', 'artifacts', 'core', 'contract', 'lib'],
  gateway: ['core', 'contract', 'lib'],
  server: ['gateway', 'core', 'contract', 'lib'],
  'config.ts': ['contract', 'lib'],
  'gateway-app.ts': ['adapters', 'app.ts', 'contract', 'core', 'gateway', 'lib'],
  'gateway-freeze.ts': ['adapters', 'app.ts', 'gateway-app.ts', 'contract', 'lib'],
  'gateway-doors.ts': ['app.ts', 'gateway-app.ts', 'gateway', 'server', 'core', 'contract', 'lib'],
  'app.ts': ['adapters', 'artifacts', 'config.ts', 'contract', 'core', 'engine', 'lib', 'store'],
  cli: [
    'app.ts',
    'gateway-app.ts',
    'gateway-doors.ts',
    'gateway-freeze.ts',
    'config.ts',
    'adapters',
    'artifacts',
    'engine',
    'gateway',
    'server',
    'core',
    'contract',
    'lib',
  ],
};

/** npm packages that a layer may use; the others use none. */
const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  contract: ['zod'],
  adapters: [
    'zod',
    'yaml',
    'ajv',
    'undici',
    'csv-parse',
    're2js',
    'ipaddr.js',
    '@ai-sdk/provider',
    '@ai-sdk/openai-compatible',
    '@ai-sdk/anthropic',
    '@modelcontextprotocol/client',
    '@guanmingchiu/sqlparser-ts',
  ],
  server: ['zod', 'hono', '@hono/node-server', '@modelcontextprotocol/server'],
  cli: ['commander', '@modelcontextprotocol/server'],
};

/** Modules and globals that belong to one place. */
const RESERVED: readonly (readonly [what: string, pattern: RegExp, where: readonly string[]])[] = [
  ['SQL and node:sqlite', /from 'node:sqlite'/, ['store/']],
  ['child processes', /from 'node:child_process'/, ['lib/process.ts', 'cli/']],
  ['worker threads', /from 'node:worker_threads'/, ['adapters/transport/']],
  ['calls of tools', /\.invokeTool\(/, ['gateway/']],
  ['tool sources', /from '.*adapters\/tools\/(?!index)/, ['gateway-app.ts']],
  [
    'parsing YAML',
    /\b(parseDocument|parseAllDocuments|toJS)\(|\bparse\b[^}\n]*\} from 'yaml'/,
    ['adapters/yaml/', 'adapters/tools/openapi-text.ts'],
  ],
  ['the environment', /process\.env\b/, ['cli/main.ts']],
  ['the wall clock', /\bDate\.now\(/, ['lib/clock.ts']],
  ['the console', /\bconsole\./, ['cli/commands/init.ts']],
];

const files = readdirSync(src, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .map((name) => ({ name, text: readFileSync(path.join(src, name), 'utf8') }));

const layerOf = (name: string) => name.split(path.sep)[0] ?? name;

function importsOf({ name, text }: (typeof files)[number]): { local: string[]; packages: string[] } {
  const specifiers = [...text.matchAll(/(?:from |import\()'([^'\n]+)'/g)].map((match) => match[1] ?? '');
  const local = specifiers
    .filter((to) => to.startsWith('.'))
    .map((to) => layerOf(path.relative(src, path.resolve(src, path.dirname(name), to))));
  const packages = specifiers
    .filter((to) => !to.startsWith('.') && !to.startsWith('node:'))
    .map((to) => (to.startsWith('@') ? to.split('/').slice(0, 2).join('/') : (to.split('/')[0] ?? to)));
  return { local, packages };
}

test('the test saw the source tree', () => {
  expect(files.length).toBeGreaterThan(80);
  expect(Object.keys(LAYERS).filter((layer) => !files.some((file) => layerOf(file.name) === layer))).toEqual([]);
});

test('every folder imports only the layers below it', () => {
  const wrong = files.flatMap((file) => {
    const layer = layerOf(file.name);
    const allowed = LAYERS[layer] ?? [];
    return importsOf(file)
      .local.filter((to) => to !== layer && !allowed.includes(to))
      .map((to) => `${file.name} imports ${to}`);
  });
  expect(wrong).toEqual([]);
});

test('every layer uses only its packages', () => {
  const wrong = files.flatMap((file) =>
    importsOf(file)
      .packages.filter((name) => !(PACKAGES[layerOf(file.name)] ?? []).includes(name))
      .map((name) => `${file.name} uses ${name}`),
  );
  expect(wrong).toEqual([]);
});

test.each(RESERVED)('%s stand in one place', (_, pattern, where) => {
  const wrong = files
    .filter((file) => pattern.test(file.text) && !where.some((place) => file.name.startsWith(place)))
    .map((file) => file.name);
  expect(wrong).toEqual([]);
});

test('no file has more than 300 lines', () => {
  const long = files.filter((file) => file.text.split('\n').length > 301).map((file) => file.name);
  expect(long).toEqual([]);
});

test('every exported symbol says what it is', () => {
  const silent = files.flatMap(({ name, text }) => {
    const lines = text.split('\n');
    return lines.flatMap((line, index) => {
      if (!/^export (async )?(function|class|interface|const|type) /.test(line)) return [];
      if (/^export type (\{|\*|\w+ = (z\.output<typeof|\(typeof))/.test(line)) return []; // the schema or list above says it
      const before = lines[index - 1] ?? '';
      return before.endsWith('*/') || before.startsWith('export ') || before.startsWith('//')
        ? []
        : [`${name}:${index + 1} ${line.slice(0, 60)}`];
    });
  });
  expect(silent).toEqual([]);
});
