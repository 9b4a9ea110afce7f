/** The dataset that stands where none is under trial. */
export const CASES = `${JSON.stringify({ id: 'a', input: 'x'.repeat(20_000) })}\n`;
const GROUPS = [{ id: 'a', evaluators: [{ ref: 'contains@1', dimension: 'd', config: { values: 'x' } }] }];

/** A profile that is right, but for what is given. */
export function profile(more: Readonly<Record<string, unknown>>): string {
  const base = {
    profile_id: 'files',
    dataset: { path: 'cases.jsonl' },
    agent: { kind: 'echo', name: 'a', version: '1' },
    case_groups: GROUPS,
  };
  return JSON.stringify({ ...base, ...more });
}

const agent = (more: object) => profile({ agent: { name: 'a', version: '1', ...more } });
const evaluator = (ref: string) => profile({ case_groups: [{ id: 'a', evaluators: [{ ref, dimension: 'd' }] }] });
const project = (more: object) => JSON.stringify({ version: 1, ...more });
const POLICY = 'version: 1\nrules: []\n';
const CALL = ['tool', 'run', 't.x', '--args', '{}'];
const CONFIG = { providers: ['echo'], prompts: ['{{x}}'] };

/** A place that opens a file which a user names, and the command that does. */
export interface Place {
  /** The name that the thing under trial gets. */
  readonly name: string;
  readonly files?: Readonly<Record<string, string>>;
  readonly argv: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
}

const check = (name: string, text: string): Place => ({
  name,
  files: { 'profile.json': text, ...(name === 'cases.jsonl' ? {} : { 'cases.jsonl': CASES }) },
  argv: ['check', 'profile.json'],
});
const tools = (name: string, source: object, argv: readonly string[]): Place => ({
  name,
  files: { 'proctor.yaml': project({ tools: { t: source } }), 'policy.yaml': POLICY },
  argv,
});

/** Every place that opens a file which a user names. */
export const PLACES: Readonly<Record<string, Place>> = {
  profile: { name: 'profile.yaml', argv: ['check', 'profile.yaml'] },
  'profile of a run': { name: 'profile.yaml', argv: ['run', 'profile.yaml'] },
  ...Object.fromEntries(
    ['jsonl', 'jsonl.gz', 'json', 'csv', 'yaml'].map((ending) => [
      `dataset in ${ending}`,
      check(`rows.${ending}`, profile({ dataset: { path: `rows.${ending}` } })),
    ]),
  ),
  recording: check('said.jsonl', agent({ kind: 'replay', replay: { path: 'said.jsonl' } })),
  'packed recording': check('said.jsonl.gz', agent({ kind: 'replay', replay: { path: 'said.jsonl.gz' } })),
  'module of an agent': check('agent.mjs', agent({ kind: 'module', module: { path: 'agent.mjs' } })),
  'program of an agent': {
    ...check('agent.sh', agent({ kind: 'command', command: ['./agent.sh'] })),
    argv: ['run', 'profile.json'],
  },
  'program of an evaluator': check('grade.sh', evaluator('command:grade.sh')),
  'module of an evaluator': check('grade.mjs', evaluator('module:grade.mjs#grade')),
  'calibration set': {
    name: 'set.jsonl',
    files: { 'profile.json': profile({}), 'cases.jsonl': CASES },
    argv: ['calibrate', 'profile.json', '--set', 'set.jsonl', '--dimension', 'd'],
  },
  secret: {
    name: 'token',
    files: {
      'cases.jsonl': CASES,
      'profile.json': agent({
        kind: 'http',
        endpoint: { url: 'http://127.0.0.1:9/', headers: { authorization: `\${secret:TOKEN}` } },
      }),
    },
    argv: ['run', 'profile.json'],
    environment: { TOKEN_FILE: 'token' },
  },
  bundle: { name: 'run.proctor', argv: ['verify', 'run.proctor'] },
  key: { name: 'key.pem', argv: ['verify', '../sound.proctor', '--key', 'key.pem'] },
  'project file': { name: 'proctor.yaml', argv: ['tool', 'ls'] },
  policy: { name: 'policy.yaml', files: { 'proctor.yaml': project({}) }, argv: ['policy', 'check'] },
  'policy of a call': {
    name: 'policy.yaml',
    files: {
      'proctor.yaml': project({ tools: { t: { kind: 'module', path: 'tools.mjs' } } }),
      'tools.mjs': 'export const tools = { x: { description: "x", input_schema: {}, run: () => 1 } };',
    },
    argv: CALL,
  },
  'table of calls': {
    name: 'table.yaml',
    files: { 'proctor.yaml': project({}), 'policy.yaml': POLICY },
    argv: ['policy', 'test', 'table.yaml'],
  },
  'document of tools': tools('api.yaml', { kind: 'openapi', document: 'api.yaml' }, CALL),
  'module of tools': tools('tools.mjs', { kind: 'module', path: 'tools.mjs' }, CALL),
  arguments: {
    name: 'args.json',
    files: { 'proctor.yaml': project({}), 'policy.yaml': POLICY },
    argv: ['tool', 'run', 't.x', '--args-file', 'args.json'],
  },
  'promptfoo configuration': { name: 'p.yaml', argv: ['import', 'promptfoo', 'p.yaml'] },
  'promptfoo tests': {
    name: 'tests.yaml',
    files: { 'p.json': JSON.stringify({ ...CONFIG, tests: 'file://tests.yaml' }) },
    argv: ['import', 'promptfoo', 'p.json'],
  },
  'promptfoo prompt': {
    name: 'prompt.txt',
    files: { 'p.json': JSON.stringify({ ...CONFIG, prompts: ['file://prompt.txt'], tests: [] }) },
    argv: ['import', 'promptfoo', 'p.json'],
  },
  store: { name: 'store.db', argv: ['runs'], environment: { PROCTOR_DB: 'store.db' } },
};
