import { describe, expect, test } from 'vitest';
import { agentKindOf } from '../../../src/adapters/agents/index.ts';
import { evaluatorKindOf } from '../../../src/adapters/evaluators/index.ts';
import { importPromptfoo } from '../../../src/adapters/importers/promptfoo.ts';
import { zodDiagnostics } from '../../../src/adapters/profiles/zod-diagnostics.ts';
import { AGENT_BASE_MEMBERS, type Profile, profileSchema } from '../../../src/contract/profile.ts';

const CASE = { vars: { question: 'hi' }, assert: [{ type: 'contains', value: 'hi' }] };
const CHAT = { model: 'm', messages: [{ role: 'user', content: '{{prompt}}' }], temperature: 0 };
const CONTENT = 'json.choices[0].message.content';

function imported(config: Readonly<Record<string, unknown>>) {
  const found = importPromptfoo({ prompts: ['{{question}}'], providers: ['echo'], tests: [CASE], ...config }, '..');
  const refusals = zodDiagnostics(profileSchema, found.profile).map((item) => item.diagnostic.message);
  return { ...found, refusals, profile: found.profile as unknown as Profile };
}

/** What was left out keeps the profile from running; what was not is a profile that is valid down to its plug-ins. */
function expectTold(found: ReturnType<typeof imported>): void {
  expect(found.refusals).toEqual(found.left_out.map((sentence) => `not settled yet: ${sentence}`));
  if (found.left_out.length > 0) return;
  const own = Object.entries(found.profile.agent).filter(([name]) => !AGENT_BASE_MEMBERS.includes(name));
  expect(zodDiagnostics(agentKindOf(found.profile.agent.kind).config, Object.fromEntries(own))).toEqual([]);
  for (const { evaluators } of found.profile.case_groups)
    for (const { ref, config } of evaluators)
      expect(zodDiagnostics(evaluatorKindOf(ref).config, config), JSON.stringify(config)).toEqual([]);
}

describe('providers', () => {
  const REFUSED: readonly unknown[] = [
    ...[
      'llama',
      'gpt-4o',
      '',
      'ollama:chat:llama3',
      'anthropic:messages:claude-sonnet-4',
      'azure:chat:d',
      'vertex:gemini',
    ],
    ...[
      'bedrock:x',
      'openrouter:a/b',
      'promptfoo:manual-input',
      'webhook:https://a.example',
      'ws://a.example',
      'browser',
    ],
    ...['mcp', 'exec:', 'exec:   ', 'openai:completion:davinci-002', 'openai:embedding:x', 'openai:responses:gpt-5'],
    ...[
      'openai:assistant:asst_1',
      'openai:chat',
      'openai:gpt-3.5-turbo-instruct',
      'openai:realtime:x',
      'golang:main.go',
    ],
    ...[
      'file://provider.py',
      'python:provider.py',
      'file://p.py:run',
      'file://provider.js',
      'provider.mjs',
      'file://p.ts',
    ],
    ...[
      'file://provider.yaml',
      'package:x:y',
      'https://agent.example/a',
      'http://127.0.0.1:1/x',
      'http',
      null,
      7,
      [],
      {},
    ],
    { id: 'https', config: { url: 'https://a.example', method: 'GET' } },
    { id: 'https', config: { url: 'https://a.example', body: { q: '{{prompt}}' } } },
    { id: 'https', config: { url: '{{url}}', body: CHAT } },
    { id: 'https', config: { url: 'https://a.example', body: CHAT, transformResponse: '(json) => json.x' } },
    { id: 'https', config: { url: 'https://a.example', body: CHAT, headers: { authorization: 'Bearer literal' } } },
    { id: 'https', config: { url: 'https://a.example', body: CHAT, signatureAuth: {} } },
    { id: 'https', config: { url: 'https://a.example', body: '{"q":"{{prompt}}"}' } },
    { id: 'https', config: { request: 'POST / HTTP/1.1' } },
    { 'llama:x': { config: {} } },
  ];
  test.each(REFUSED.map((provider) => [JSON.stringify(provider), provider]))('%s cannot be run', (_, provider) => {
    const found = imported({ providers: [provider] });
    expect(found.profile.agent.kind).toBe('to_fill_in');
    expect(() => agentKindOf(found.profile.agent.kind)).toThrow('stands where your agent belongs');
    expect(found.left_out.some((sentence) => sentence.startsWith('providers: `'))).toBe(true);
    expectTold(found);
  });

  const MAPPED: readonly (readonly [unknown, object])[] = [
    ['echo', { kind: 'echo' }],
    ['openai:gpt-4o-mini', { kind: 'http', endpoint: { body: { model: 'gpt-4o-mini' } } }],
    ['openai:chat:ft:gpt-4o:me::1', { endpoint: { body: { model: 'ft:gpt-4o:me::1' } } }],
    [
      { id: 'openai:chat:x', config: { temperature: 0, apiKeyEnvar: 'K', apiBaseUrl: 'https://p.example/v1/' } },
      {
        endpoint: {
          url: 'https://p.example/v1/chat/completions',
          // biome-ignore lint/suspicious/noTemplateCurlyInString: a reference as a profile writes it
          headers: { authorization: 'Bearer ${secret:K}' },
          body: { members: { temperature: 0 } },
        },
      },
    ],
    [{ 'openai:gpt-4o': { config: { temperature: 1 } } }, { endpoint: { body: { members: { temperature: 1 } } } }],
    ['exec: python chain.py', { command: ['python', 'chain.py'], cwd: '..', agent_metadata: ['vars'] }],
    [
      'exec:./run.sh "a b" \'c\'',
      { command: ['../run.sh', 'a b', 'c'], promptfoo: { options: { id: 'exec:./run.sh "a b" \'c\'' } } },
    ],
    [
      { id: 'exec:/bin/x', label: 'mine', config: { k: 1 }, env: { KEY: '{{env.KEY}}' } },
      // biome-ignore lint/suspicious/noTemplateCurlyInString: a reference as a profile writes it
      { name: 'mine', env: { KEY: '${secret:KEY}' }, promptfoo: { options: { label: 'mine', config: { k: 1 } } } },
    ],
    [
      {
        id: 'https://a.example/v1',
        config: { body: CHAT, transformResponse: CONTENT, headers: { 'X-Key': '{{env.A}}' } },
      },
      {
        endpoint: {
          url: 'https://a.example/v1',
          // biome-ignore lint/suspicious/noTemplateCurlyInString: a reference as a profile writes it
          headers: { 'x-key': '${secret:A}' },
          body: { preset: 'openai_chat', model: 'm', members: { temperature: 0 } },
          response: { preset: 'openai_chat' },
        },
      },
    ],
    [
      { id: 'http', config: { url: 'http://127.0.0.1:1/v1', body: CHAT, transformResponse: "json.a[0]['b/c']" } },
      { endpoint: { response: { text: '/a/0/b~1c' } } },
    ],
  ];
  test.each(MAPPED.map(([provider, agent]) => [JSON.stringify(provider), provider, agent]))(
    '%s',
    (_, provider, agent) => {
      const found = imported({ providers: [provider] });
      expect(found.left_out).toEqual([]);
      expect(found.profile.agent).toMatchObject(agent as object);
      expectTold(found);
    },
  );

  test('an option of a provider that is not carried over is told', () => {
    for (const more of [
      { transform: 'x' },
      { prompts: ['a'] },
      { delay: 5 },
      { env: { A: 'literal' } },
      { unknown: 1 },
    ])
      for (const id of ['openai:gpt-4o', 'exec:x', 'echo']) {
        const found = imported({ providers: [{ id, ...more }] });
        expect(found.left_out.join(), JSON.stringify(more)).toContain(`providers[0].${Object.keys(more)[0]}`);
        expectTold(found);
      }
    expect(imported({ providers: [{ id: 'openai:x', config: { tools: [] } }] }).left_out.join()).toContain(
      'config.tools',
    );
  });
});

// Every type of promptfoo, plain and negated, with values of every shape.
const TYPES =
  `agent-rubric answer-relevance assert-set bleu classifier contains contains-all contains-any contains-html contains-json
contains-sql contains-xml context-faithfulness context-recall context-relevance conversation-relevance cost equals factuality
finish-reason g-eval gleu guardrails human icontains icontains-all icontains-any is-html is-json is-refusal is-sql
is-valid-function-call is-valid-openai-function-call is-valid-openai-tools-call is-xml javascript latency levenshtein llm-rubric
max-score meteor model-graded-closedqa model-graded-factuality moderation perplexity perplexity-score pi python regex rouge-n ruby
search-rubric select-best similar similar:cosine similar:dot similar:euclidean skill-used starts-with tool-call-f1
trace-error-spans trace-span-count trace-span-duration trajectory:goal-success trajectory:step-count trajectory:tool-args-match
trajectory:tool-sequence trajectory:tool-used webhook word-count promptfoo:redteam:pii unheard-of`.split(/\s+/);
const MAPPED = new Set(
  'contains contains-all contains-any cost equals icontains icontains-all icontains-any is-json latency regex starts-with'.split(
    ' ',
  ),
);
const VALUES = [
  'a',
  'a, b',
  ['a', 'b'],
  ['a', 5],
  ['a', ''],
  ['a', {}],
  7,
  '',
  {},
  null,
  undefined,
  'file://x',
  '"a,b"',
  '{"type":"object"}',
];

describe('assertions', () => {
  test.each(TYPES)('%s is graded or told, whatever its value', (type) => {
    for (const name of [type, `not-${type}`])
      for (const value of VALUES)
        for (const more of [{}, { threshold: 1 }, { transform: 'x' }, { provider: 'y' }, { config: {} }]) {
          const found = imported({ tests: [{ ...CASE, assert: [...CASE.assert, { type: name, value, ...more }] }] });
          const evaluators = found.profile.case_groups[0]?.evaluators.length ?? 0;
          const told = found.left_out.some((sentence) => sentence.startsWith('tests[0].assert[1]'));
          const what = JSON.stringify([name, value, more]);
          expect(told, what).toBe(evaluators === 1);
          if (evaluators === 2) expect(MAPPED.has(type), what).toBe(true);
          expectTold(found);
        }
  });

  test('a list that is not all text loses no item, numbers are texts, and a text may begin with any word', () => {
    const of = (assertion: object) => imported({ tests: [{ assert: [assertion], vars: { question: 'q' } }] });
    expect(of({ type: 'contains-all', value: ['a', 5] }).profile.case_groups[0]?.evaluators).toMatchObject([
      { config: { values: ['a', '5'], all: true } },
    ]);
    expect(of({ type: 'contains', value: 'python is great' }).left_out).toEqual([]);
    expect(of({ type: 'equals', value: 'x' }).profile.case_groups[0]?.evaluators).toMatchObject([
      { config: { trim: false } },
    ]);
    for (const value of [['a', {}], ['a', null], '"a,b", c', 'file://list.txt', ['file://x']])
      expect(of({ type: 'contains-all', value }).cases).toEqual([]);
  });
});

describe('tests, variables and prompts', () => {
  const LOST: readonly (readonly [string, object])[] = [
    ['tests[0].vars.question', { tests: [{ ...CASE, vars: { question: ['a', 'b'] } }] }],
    ['tests[0].vars.question', { tests: [{ ...CASE, vars: { question: 'file://q.txt' } }] }],
    ['tests[0].vars', { tests: [{ ...CASE, vars: 'file://vars.yaml' }] }],
    ['variable `question`', { tests: [{ ...CASE, vars: {} }] }],
    ['is a template itself', { tests: [{ ...CASE, vars: { question: 'a {{b}}' } }] }],
    ['filters', { prompts: ['{{ question | upper }}'] }],
    ['blocks', { prompts: ['{% if question %}x{% endif %}'] }],
    ['variable `missing`', { tests: [{ ...CASE, assert: [{ type: 'contains', value: '{{missing}}' }] }] }],
    ['the first of 2', { prompts: ['{{question}}', 'b'] }],
    ['the first of 2', { providers: ['echo', 'echo'] }],
    ['not a text', { prompts: [{ id: 'file://p.txt', label: 'x' }] }],
    ['not a text', { prompts: [{ raw: 'file://p.txt', label: 'x' }] }],
    ['variable `prompt`', { prompts: undefined }],
    ['tests[0].threshold', { tests: [{ ...CASE, threshold: 0.5 }] }],
    ['tests[0].options', { tests: [{ ...CASE, options: {} }] }],
    ['tests[1]', { tests: [CASE, 'file://tests.csv'] }],
    ['tests[1]', { tests: [CASE, {}] }],
    ['tests[1]', { tests: [CASE, { assert: [{ type: 'llm-rubric', value: 'x' }] }] }],
    ['defaultTest', { defaultTest: 'file://d.csv' }],
    ['defaultTest.options', { defaultTest: { options: {} } }],
    ['defaultTest.vars', { defaultTest: { vars: 'file://v.yaml' } }],
    ['defaultTest.assert[0]', { defaultTest: { assert: ['file://x'] } }],
    ['defaultTest.assert[0]', { defaultTest: { assert: [{ type: 'llm-rubric', value: 'x' }] } }],
    ['chat messages', { providers: ['openai:x'], prompts: ['- role: user\n  content: {{question}}'] }],
    ['chat messages', { providers: ['openai:x'], prompts: ['[{"role":"user","content":{{question}}}]'] }],
    ...['scenarios', 'redteam', 'evaluateOptions', 'env', 'extensions', 'derivedMetrics', 'nunjucksFilters'].map(
      (name) => [name, { [name]: {} }] as const,
    ),
  ];
  test.each(LOST)('%s is told and keeps the profile from running: %j', (sentence, config) => {
    const found = imported(config as Record<string, unknown>);
    expect(found.left_out.join('\n')).toContain(sentence);
    expectTold(found);
  });

  test('chat messages of a prompt are sent as messages to a chat, and as text to anything else', () => {
    const prompts = ['[{"role":"system","content":"s"},{"role":"user","content":"{{question}}"}]'];
    expect(imported({ prompts, providers: ['openai:x'] }).cases[0]?.input).toEqual([
      { role: 'system', content: 's' },
      { role: 'user', content: 'hi' },
    ]);
    expect(imported({ prompts, providers: ['exec:x'] }).cases[0]?.input).toBe(
      prompts[0]?.replace('{{question}}', 'hi'),
    );
  });

  test('more left out than a profile should list is counted', () => {
    const found = imported({ tests: [CASE, ...Array.from({ length: 1_200 }, () => ({}))] });
    expect(found.left_out).toHaveLength(1_200);
    const { unfinished } = found.profile as unknown as { readonly unfinished: readonly string[] };
    expect(unfinished).toHaveLength(1_001);
    expect(unfinished.at(-1)).toContain('200 more');
    expect(found.refusals).toHaveLength(100); // as many as are told at once
  });
});
