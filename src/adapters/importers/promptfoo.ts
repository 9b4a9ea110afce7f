import { type Assertion, assertionOf, type Evaluator } from './promptfoo-asserts.ts';
import { agentOf, firstProvider } from './promptfoo-provider.ts';
import { LeftOut, list, type Members, members, rendered, renderedDeep } from './promptfoo-text.ts';

/** One case as it is written into the dataset. */
export interface ImportedCase {
  readonly id: string;
  readonly task_type: string;
  readonly case_group: string;
  readonly input: unknown;
  readonly expected?: string;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** A promptfoo configuration as a profile and its cases; what has no counterpart is told, a sentence each. */
export interface Imported {
  readonly profile: Readonly<Record<string, unknown>>;
  readonly cases: readonly ImportedCase[];
  readonly left_out: readonly string[];
}

const READ_OF_CONFIG = ['description', 'prompts', 'providers', 'targets', 'defaultTest', 'tests'];
/** Members that say nothing about what is asked or how it is graded. */
const IDLE = ['$schema', 'outputPath', 'sharing', 'tags', 'writeLatestResults'];
const READ_OF_TEST = ['description', 'vars', 'assert', 'metadata'];
const MOST_TOLD = 1_000; // in the profile; `import` tells all of them

type Groups = Map<string, { readonly id: string; readonly evaluators: readonly Evaluator[] }>;

/**
 * Turns a promptfoo configuration (parsed YAML, its `file://` tests read in) into a profile and a dataset. `from`: its folder as seen from
 * the profile's. What was left out stands in the profile too, where it keeps anything from running.
 */
export function importPromptfoo(config: Members, from = '.'): Imported {
  const leftOut = new LeftOut();
  const fallback = members(config['defaultTest']);
  leftOut.addUnread(config, [...READ_OF_CONFIG, ...IDLE], '');
  leftOut.addUnread(fallback, READ_OF_TEST, 'defaultTest');
  if (typeof config['defaultTest'] === 'string')
    leftOut.add(`defaultTest: \`${config['defaultTest']}\` is a reference of a kind that is not read`);
  const { agent, chat } = agentOf(firstProvider(config, leftOut), from, leftOut);
  const reader = new TestReader(promptOf(config, leftOut), fallback, chat, leftOut);
  const cases = list(config['tests']).flatMap((test, index) => reader.read(test, index) ?? []);
  const left_out = leftOut.all();
  const more = left_out.length - MOST_TOLD;
  const unfinished = [...left_out.slice(0, MOST_TOLD), ...(more > 0 ? [`${more} more, which \`import\` told`] : [])];
  const profile = {
    ...(unfinished.length === 0 ? {} : { unfinished }),
    profile_id: typeof config['description'] === 'string' ? config['description'].slice(0, 200) : 'from-promptfoo',
    dataset: { path: 'cases.jsonl' },
    agent,
    case_groups: [...reader.groups.values()],
    gate: { all: [{ metric: 'pass_rate', min: 1 }] },
  };
  return { profile, cases, left_out };
}

/** The first prompt as a template. */
function promptOf(config: Members, leftOut: LeftOut): string {
  const prompts = list(config['prompts']);
  if (prompts.length > 1) leftOut.add(`prompts: the first of ${prompts.length} is taken; compare two by two profiles`);
  if (prompts.length === 0) return '{{prompt}}'; // as promptfoo has it
  const [prompt] = prompts;
  const { raw, label: _label, ...strange } = members(prompt);
  const text = typeof prompt === 'string' ? prompt : Object.keys(strange).length === 0 ? raw : null;
  if (typeof text === 'string' && !/^(?:file|package|https?):/.test(text)) return text;
  leftOut.add('prompts: the first one is not a text; write it into the `input` of each case');
  return '{{prompt}}';
}

/** Reads tests into cases, and their assertions into case groups. */
class TestReader {
  readonly groups: Groups = new Map();
  readonly #ids = new Set<string>();
  readonly #prompt: string;
  readonly #fallback: Members;
  readonly #chat: boolean;
  readonly #leftOut: LeftOut;

  constructor(prompt: string, fallback: Members, chat: boolean, leftOut: LeftOut) {
    this.#prompt = prompt;
    this.#fallback = fallback;
    this.#chat = chat;
    this.#leftOut = leftOut;
  }

  /** The case of a test; null when nothing could grade it. */
  read(test: unknown, index: number): ImportedCase | null {
    const at = `tests[${index}]`;
    const own = members(test);
    if (typeof test === 'string') {
      this.#leftOut.add(`${at}: \`${test}\` is a reference of a kind that is not read`);
      return null;
    }
    this.#leftOut.addUnread(own, READ_OF_TEST, at);
    const vars = { ...this.#vars(this.#fallback, 'defaultTest'), ...this.#vars(own, at) };
    const graded = this.#assertions(own, vars, at);
    const usable = [...this.#assertions(this.#fallback, vars, 'defaultTest'), ...graded];
    // What everything is held to does not stand for what this test was about.
    if (usable.length === 0 || (list(own['assert']).length > 0 && graded.length === 0)) {
      this.#leftOut.add(`${at}: it has nothing that can be graded, so it was left out`);
      return null;
    }
    const expected = usable.find((item) => item.expected !== null)?.expected ?? null;
    const input = rendered(this.#prompt, vars, at, this.#leftOut);
    return {
      id: uniqueId(own['description'], index, this.#ids),
      task_type: 'prompt',
      case_group: this.#group(usable.map((item) => (item.expected === expected ? item.byCase : item.byConfig))),
      input: this.#chat ? this.#messages(input, at) : input,
      ...(expected === null ? {} : { expected }),
      metadata: { ...members(own['metadata']), vars },
    };
  }

  #vars(test: Members, at: string): Members {
    const vars = members(test['vars']);
    if (typeof test['vars'] === 'string')
      this.#leftOut.add(`${at}.vars: \`${test['vars']}\` is a reference of a kind that is not read`);
    for (const [name, value] of Object.entries(vars)) {
      if (Array.isArray(value))
        this.#leftOut.add(`${at}.vars.${name}: promptfoo makes several tests of a list; here it is one value`);
      if (typeof value === 'string' && /^(?:file:\/\/|package:)/.test(value))
        this.#leftOut.add(`${at}.vars.${name}: \`${value}\` is a reference of a kind that is not read`);
    }
    return vars;
  }

  #assertions(test: Members, vars: Members, at: string): Assertion[] {
    return list(test['assert']).flatMap((assertion, number) => {
      const where = `${at}.assert[${number}]`;
      const given = members(assertion);
      const value = renderedDeep(given['value'], vars, where, this.#leftOut);
      const made = assertionOf({ ...given, value }, where);
      if (typeof made !== 'string') return [made];
      this.#leftOut.add(made);
      return [];
    });
  }

  #group(evaluators: readonly Evaluator[]): string {
    const key = JSON.stringify(evaluators);
    const group = this.groups.get(key) ?? { id: `asserts-${this.groups.size + 1}`, evaluators };
    this.groups.set(key, group);
    return group.id;
  }

  /** A prompt that is written as a list of chat messages, as that list. */
  #messages(prompt: string, at: string): unknown {
    const text = prompt.trim();
    if (!/^(?:\[|\{|- )/.test(text)) return prompt;
    const given = jsonOf(text);
    const chat = Array.isArray(given) && given.length > 0 && given.every((item) => 'role' in members(item));
    if (chat) return given;
    if (/\brole\b/.test(text)) this.#leftOut.add(`${at}: its prompt looks like chat messages and is not read as such`);
    return prompt;
  }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null; // a text that only looks like JSON
  }
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
