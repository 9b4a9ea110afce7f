import { CASES, PLACES, profile } from '../support/named-files.ts';
import { SHAPES } from '../support/yaml-shapes.ts';
import { type Content, damaged, type Input, type Link, spoilt } from './input.ts';
import { oneOf, randomFor, someOf } from './tally.ts';

const PROFILE = {
  profile_id: 'p',
  profile_version: '1.0.0',
  dataset: { path: 'cases.jsonl', fields: { input: '/input' }, select: { tags_any: [], limit: 5 } },
  agent: { kind: 'echo', name: 'a', version: '1', provider: 'acme' },
  defaults: { max_attempts: 2, request_timeout_secs: 60, min_execution_score: 0.5 },
  repeats: 2,
  seed: 42,
  limits: { concurrency: 4, execution: { time_ms: 60_000 }, run: { cost_usd: 5 } },
  retry: { infrastructure: 5, backoff: { base_ms: 1, cap_ms: 2 } },
  persistence: { mode: 'full' },
  case_groups: [
    {
      id: 'g',
      applies_to: { tags_any: [] },
      evaluators: [{ ref: 'contains@1', dimension: 'd', blocking: true, weight: 1, config: { values: ['x'] } }],
      aggregation: { dimensions: { d: { method: 'min_score', weight: 1 } } },
    },
  ],
  gate: { min_cases: 1, all: [{ metric: 'pass_rate', bound: 'lower', confidence: 0.95, min: 0.1 }] },
};
const OTHER_AGENTS: readonly object[] = [
  {
    kind: 'http',
    endpoint: { url: 'http://127.0.0.1:9/', method: 'POST', headers: { a: 'b' }, response: { preset: 'native' } },
  },
  { kind: 'command', command: ['node', 'agent.mjs'], cwd: '.', env: { A: 'b' } },
  { kind: 'module', module: { path: 'agent.mjs', export: 'default' } },
  { kind: 'replay', replay: { path: 'said.jsonl' } },
];
const POLICY = {
  version: 1,
  rules: [
    {
      id: 'r',
      match: { tools: ['t.*'], principals: ['human:*'] },
      when: { arguments: [{ path: '/a', equals: 1 }] },
      decision: 'allow',
      limits: [{ calls: 5, window_ms: 1_000 }],
    },
  ],
};
const PROJECT = {
  version: 1,
  tools: { t: { kind: 'module', path: 'tools.mjs' }, o: { kind: 'openapi', document: 'api.yaml' } },
  policy: 'policy.yaml',
  providers: { acme: { base_url: 'http://127.0.0.1:9/', api_key: 'x' } },
};
const PROMPTFOO = {
  description: 'x',
  providers: ['echo', { id: 'openai:gpt-4', config: { temperature: 0 } }],
  prompts: ['Say {{x}}', { raw: 'Now {{y}}', label: 'two' }],
  defaultTest: { options: { provider: 'echo' }, assert: [{ type: 'latency', threshold: 5_000 }] },
  tests: [
    {
      vars: { x: 1, y: ['a', 'b'] },
      assert: [
        { type: 'contains', value: 'x' },
        { type: 'javascript', value: 'output.length' },
      ],
    },
  ],
};
const TOOLS = 'export const tools = { x: { description: "x", input_schema: { type: "object" }, run: () => 1 } };';

/** What a kind of document is, and the command that reads it. */
interface Reader {
  readonly kind: string;
  readonly document: object;
  readonly file: string;
  readonly files: Readonly<Record<string, string>>;
  readonly argv: readonly string[];
  readonly spoilt: number;
}

const READERS: readonly Reader[] = [
  {
    kind: 'profiles',
    document: PROFILE,
    file: 'p.yaml',
    files: { 'cases.jsonl': CASES },
    argv: ['check', 'p.yaml'],
    spoilt: 40,
  },
  {
    kind: 'profiles',
    document: PROFILE,
    file: 'p.json',
    files: { 'cases.jsonl': CASES },
    argv: ['run', 'p.json'],
    spoilt: 12,
  },
  ...OTHER_AGENTS.map((agent) => ({
    kind: 'profiles',
    document: { ...PROFILE, agent: { name: 'a', version: '1', ...agent } },
    file: 'p.yaml',
    files: { 'cases.jsonl': CASES, 'agent.mjs': 'export default () => "x";', 'said.jsonl': '' },
    argv: ['check', 'p.yaml'],
    spoilt: 5,
  })),
  {
    kind: 'policies',
    document: POLICY,
    file: 'policy.yaml',
    files: { 'proctor.yaml': '{"version":1}' },
    argv: ['policy', 'check'],
    spoilt: 25,
  },
  {
    kind: 'project files',
    document: PROJECT,
    file: 'proctor.yaml',
    files: { 'policy.yaml': '{"version":1,"rules":[]}', 'tools.mjs': TOOLS },
    argv: ['tool', 'ls'],
    spoilt: 20,
  },
  {
    kind: 'promptfoo files',
    document: PROMPTFOO,
    file: 'pf.yaml',
    files: {},
    argv: ['import', 'promptfoo', 'pf.yaml'],
    spoilt: 30,
  },
];

/** Profiles, policies, project files and promptfoo files with something wrong in them. */
export function documentInputs(seed: number): Input[] {
  return READERS.flatMap((reader, at) => {
    const { kind, document, file, files, argv } = reader;
    const random = randomFor(seed, `documents ${at}`);
    const input = (name: string, text: Content): Input => ({
      kind,
      name: `${file} ${name}`,
      files: { ...files, [file]: text },
      argv,
    });
    const wrong = [...spoilt(document, random, reader.spoilt)].map(([name, text]) => input(name, text));
    const isProfileOfOtherAgent = reader.spoilt < 10;
    const broken = isProfileOfOtherAgent
      ? []
      : damaged(JSON.stringify(document, null, 1), random, 6).map(([name, bytes]) => input(name, bytes));
    return [...wrong, ...broken];
  });
}

/** Shapes of YAML that took minutes, for one of the documents each. */
export function yamlInputs(seed: number): Input[] {
  const random = randomFor(seed, 'yaml');
  return Object.entries(SHAPES).map(([name, text]): Input => {
    const { file, files, argv } = oneOf(
      random,
      READERS.filter((reader) => reader.file.endsWith('.yaml')),
    );
    return { kind: 'YAML', name: `${file}: ${name}`, files: { ...files, [file]: text }, argv, hopeless: true };
  });
}

const LINKS: readonly Link['link'][] = ['pipe', 'device', 'folder', 'dangling', 'loop'];

/** Pipes, devices, folders and links that lead nowhere, wherever a file is named. */
export function linkInputs(seed: number): Input[] {
  const random = randomFor(seed, 'links');
  return Object.entries(PLACES).flatMap(([place, { name, files = {}, argv, environment = {} }]) =>
    someOf(random, LINKS, 2).map(
      (link): Input => ({
        kind: 'what is no file',
        name: `${place}: ${link}`,
        files: { ...files, [name]: { link } },
        argv,
        environment,
        hopeless: true,
      }),
    ),
  );
}

/** A profile that is right, for datasets that are not. */
export const SOUND_PROFILE = (dataset: object, more: object = {}) => profile({ dataset, ...more });
