import { assertionOf, type Evaluator } from './promptfoo-asserts.ts';

/** One case as it is written into the dataset. */
export interface ImportedCase {
  readonly id: string;
  readonly task_type: string;
  readonly case_group: string;
  readonly input: string;
  readonly expected?: string;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** A promptfoo configuration as a profile and its cases; what has no counterpart is told, a sentence each. */
export interface Imported {
  readonly profile: Readonly<Record<string, unknown>>;
  readonly cases: readonly ImportedCase[];
  readonly left_out: readonly string[];
}

type Members = Readonly<Record<string, unknown>>;

const READ_OF_CONFIG = ['description', 'prompts', 'providers', 'targets', 'defaultTest', 'tests'];
const READ_OF_TEST = ['description', 'vars', 'assert', 'metadata'];

/** Turns a promptfoo configuration (parsed YAML, its `file://` tests read in) into a profile and a dataset. */
export function importPromptfoo(config: Members): Imported {
  const left_out: string[] = [];
  const prompts = list(config['prompts']).flatMap((prompt) => promptText(prompt) ?? []);
  const [prompt = '{{input}}'] = prompts;
  if (list(config['prompts']).length > 1)
    left_out.push(`prompts: the first of ${list(config['prompts']).length} is taken; compare two by two profiles`);
  const fallback = members(config['defaultTest']);
  left_out.push(...unread(config, READ_OF_CONFIG, ''), ...unread(fallback, READ_OF_TEST, 'defaultTest'));
  const groups = new Map<string, { id: string; evaluators: readonly Evaluator[] }>();
  const cases: ImportedCase[] = [];
  const ids = new Set<string>();
  for (const [index, test] of list(config['tests']).entries()) {
    const at = `tests[${index}]`;
    const own = members(test);
    if (typeof test === 'string') {
      left_out.push(`${at}: \`${test}\` is a reference of a kind that is not read`);
      continue;
    }
    const vars = { ...members(fallback['vars']), ...members(own['vars']) };
    for (const [name, value] of Object.entries(vars))
      if (Array.isArray(value))
        left_out.push(`${at}.vars.${name}: a list stands for several tests; it is taken as one value`);
    const asked = (assertion: unknown, where: string) => assertionOf(withVars(assertion, vars, where, left_out), where);
    const found = list(own['assert']).map((assertion, number) => asked(assertion, `${at}.assert[${number}]`));
    const shared = list(fallback['assert']).flatMap((assertion, number) => {
      const made = asked(assertion, `defaultTest.assert[${number}]`);
      if (typeof made !== 'string') return [made];
      if (index === 0) left_out.push(made);
      return [];
    });
    left_out.push(...unread(own, READ_OF_TEST, at));
    left_out.push(...found.filter((item) => typeof item === 'string'));
    const graded = found.filter((item) => typeof item !== 'string');
    const usable = [...shared, ...graded];
    // What everything is held to does not stand for what this test was about.
    if (usable.length === 0 || (found.length > 0 && graded.length === 0)) {
      left_out.push(`${at}: nothing of its own can be graded, so it is no case`);
      continue;
    }
    const expected = usable.find((item) => item.expected !== null)?.expected ?? null;
    const evaluators = usable.map((item) => (item.expected === expected ? item.byCase : item.byConfig));
    const key = JSON.stringify(evaluators);
    const group = groups.get(key) ?? { id: `asserts-${groups.size + 1}`, evaluators };
    groups.set(key, group);
    cases.push({
      id: uniqueId(own['description'], index, ids),
      task_type: 'prompt',
      case_group: group.id,
      input: rendered(prompt, vars, at, left_out),
      ...(expected === null ? {} : { expected }),
      metadata: { ...members(own['metadata']), vars },
    });
  }
  const providers = list(config['providers'] ?? config['targets']);
  if (providers.length > 1)
    left_out.push(`providers: the first of ${providers.length} is taken; a profile has one agent`);
  const [provider] = providers;
  const profile = {
    profile_id: typeof config['description'] === 'string' ? config['description'].slice(0, 200) : 'from-promptfoo',
    dataset: { path: 'cases.jsonl' },
    agent: agentOf(provider, left_out),
    case_groups: [...groups.values()],
    gate: { all: [{ metric: 'pass_rate', min: 1 }] },
  };
  return { profile, cases, left_out };
}

/** Members that nothing here reads: what they mean is lost, so they are told. */
function unread(value: Members, read: readonly string[], at: string): string[] {
  return Object.keys(value)
    .filter((name) => !read.includes(name))
    .map((name) => `${at === '' ? name : `${at}.${name}`}: it has no counterpart here`);
}

function agentOf(provider: unknown, left_out: string[]): Members {
  const id = typeof provider === 'string' ? provider : String(members(provider)['id'] ?? '');
  const base = { name: id === '' ? 'agent' : id.slice(0, 200), version: '1' };
  if (/^https?:\/\//.test(id)) return { kind: 'http', ...base, endpoint: { url: id } };
  const model = /^openai:(?:chat:)?(.+)$/.exec(id)?.[1];
  if (model !== undefined) {
    const url = 'https://api.openai.com/v1/chat/completions';
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a reference as a profile writes it
    const headers = { authorization: 'Bearer ${secret:OPENAI_API_KEY}' };
    const body = { preset: 'openai_chat', model };
    return {
      kind: 'http',
      ...base,
      provider: 'openai',
      endpoint: { url, headers, body, response: { preset: 'openai_chat' } },
    };
  }
  const command = /^exec:\s*(.+)$/.exec(id)?.[1];
  if (command !== undefined) return { kind: 'command', ...base, command: command.split(/\s+/) };
  left_out.push(
    `providers: \`${id || 'none'}\` has no counterpart; the agent \`echo\` stands in its place until you name yours`,
  );
  return { kind: 'echo', ...base };
}

/** The template with its variables; `{{name}}` only, because filters and blocks are code. */
/** An assertion with its texts rendered, as promptfoo renders them. */
function withVars(assertion: unknown, vars: Members, at: string, left_out: string[]): Members {
  const given = members(assertion);
  const text = (value: unknown): unknown =>
    typeof value === 'string' ? rendered(value, vars, at, left_out) : Array.isArray(value) ? value.map(text) : value;
  return { ...given, value: text(given['value']) };
}

function rendered(prompt: string, vars: Members, at: string, left_out: string[]): string {
  if (/\{%|\{\{[^}]*\|/.test(prompt))
    left_out.push(`${at}: the prompt uses blocks or filters, which are left as they stand`);
  return prompt.replace(/\{\{\s*([A-Za-z_][\w.]*)\s*\}\}/g, (whole, name: string) => {
    const value = name.split('.').reduce<unknown>((within, key) => members(within)[key], vars);
    if (value === undefined) return whole;
    return typeof value === 'string' ? value : JSON.stringify(value);
  });
}

function promptText(prompt: unknown): string | null {
  if (typeof prompt === 'string') return prompt;
  const { raw, label } = members(prompt);
  return typeof raw === 'string' ? raw : typeof label === 'string' ? label : null;
}

function uniqueId(description: unknown, index: number, ids: Set<string>): string {
  const plain =
    typeof description === 'string'
      ? description
          .replace(/\p{Cc}/gu, ' ')
          .trim()
          .slice(0, 200)
      : '';
  const wanted = plain === '' ? `test-${index + 1}` : plain;
  const id = ids.has(wanted) ? `${wanted} (${index + 1})` : wanted;
  ids.add(id);
  return id;
}

function members(value: unknown): Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Members) : {};
}

function list(value: unknown): readonly unknown[] {
  return value === undefined || value === null ? [] : Array.isArray(value) ? value : [value];
}
