import { describe, expect, test } from 'vitest';
import type { ExecutionDocument } from '../../src/contract/documents.ts';
import { cutSections, executionSections, executionText, worstSeverity } from '../../src/core/execution-sections.ts';

const EMPTY = {
  case: { input: null, context: null, expected: null },
  output: null,
  usage: null,
  turns: null,
  evaluator_results: [],
  corrected: null,
  failure: null,
  tool_runs: [],
  tool_calls: [],
  trace: [],
  not_kept: [],
  redacted: [],
  attempts: [],
};
const documentOf = (members: object) => ({ ...EMPTY, ...members }) as unknown as ExecutionDocument;
/** The sections as pairs of title and text. */
const of = (members: object) => executionSections(documentOf(members)).map(({ title, text }) => [title, text]);
const result = (members: object = {}) => ({
  index: 0,
  status: 'passed',
  ref: 'regex@1',
  dimension: 'correctness',
  blocking: false,
  weight: 1,
  severity: 'none',
  score: null,
  reason: null,
  evidence: null,
  ...members,
});
const attempt = (members: object = {}) => ({
  attempt: 1,
  status: 'completed',
  fault: null,
  reason: null,
  decides: false,
  worker: { session_id: 'wse_1', name: 'w1', host: 'box', pid: 42 },
  started_at: '2026-01-01T00:00:00.000Z',
  duration_ms: 12,
  failure: null,
  output: null,
  evaluator_results: [],
  ...members,
});
const call = { name: 'shop.refund', arguments: { amount: 3 }, result: null, source: 'reported' };

test('of nothing there is nothing', () => {
  expect(of({})).toEqual([]);
  expect(executionText(documentOf({}), 100)).toBe('');
});

test('sections stand in the order in which one reads them', () => {
  const titles = of({
    case: { input: 'in', context: 'ctx', expected: 'out' },
    output: { text: 'said', structured: { a: 1 } },
    usage: { input_tokens: 3 },
    turns: [{ text: 'hi', structured: null, tool_calls: [], latency_ms: 4, usage: null }],
    evaluator_results: [result()],
    corrected: { corrected_by: 'ada', own: { results: [] } },
    failure: 'broken',
    tool_runs: [{ tool: 't', status: 's', decision: null, latency_ms: null, output: null, error: null, arguments: {} }],
    tool_calls: [call],
    trace: [{}],
    not_kept: ['raw'],
    attempts: [attempt()],
  }).map(([title]) => title);
  expect(titles).toEqual([
    'findings',
    'corrected',
    'input',
    'context',
    'expected',
    'failure',
    'output',
    'structured output',
    'turns',
    'tool runs (1)',
    'tool calls in the answer (1)',
    'trace (1)',
    'usage',
    'not kept',
    'attempts (1)',
  ]);
});

describe('values', () => {
  test('are texts as they are, all else as JSON; nothing is left out', () => {
    expect(of({ case: { input: 'a\r\nb\tc', context: { a: [1] }, expected: undefined } })).toEqual([
      ['input', 'a\nb  c'],
      ['context', '{\n  "a": [\n    1\n  ]\n}'],
    ]);
    expect(of({ case: { input: '', context: 0, expected: false } })).toEqual([
      ['context', '0'],
      ['expected', 'false'],
    ]);
    expect(of({ output: { text: null, structured: null } })).toEqual([]);
  });

  test('hide nothing', () => {
    const text = of({ case: { input: 'a\u202eb\u0007', context: null, expected: null } })[0]?.[1];
    for (const hidden of ['\u202e', '\u0007']) expect(text).not.toContain(hidden);
  });
});

describe('findings', () => {
  test('have a mark, where they count, and why', () => {
    const found = of({
      evaluator_results: [
        result({ score: 0.123456 }),
        result({ status: 'failed', blocking: true, severity: 'high', reason: 'no\nmatch', evidence: { at: 3 } }),
        result({ status: 'error' }),
        result({ status: 'skipped', score: 0 }),
      ],
    });
    expect(found).toEqual([
      [
        'findings',
        [
          '✓ regex@1  correctness, score 0.1235',
          '  passed',
          '✗ regex@1  correctness, blocking, severity high',
          '  no',
          '  match',
          '  evidence {"at":3}',
          '! regex@1  correctness',
          '  error',
          '- regex@1  correctness, score 0',
          '  skipped',
        ].join('\n'),
      ],
    ]);
  });

  test('the worst severity is that of what failed', () => {
    const worst = (...of: [string, string][]) =>
      worstSeverity(documentOf({ evaluator_results: of.map(([status, severity]) => result({ status, severity })) }));
    expect(worst()).toBe('none');
    expect(worst(['failed', 'low'], ['failed', 'high'], ['failed', 'medium'], ['passed', 'critical'])).toBe('high');
    expect(worst(['error', 'high'], ['skipped', 'low'])).toBe('none');
  });

  test('what was corrected is told with what the evaluators had found', () => {
    const results = [
      { index: 0, status: 'failed', reason: null },
      { index: 2, status: 'passed', reason: 'fine' },
    ];
    expect(of({ corrected: { corrected_by: 'ada', own: { results } } })).toEqual([
      ['corrected', 'by ada\nevaluator 0 itself: failed\nevaluator 2 itself: passed, fine'],
    ]);
  });
});

describe('a failure', () => {
  const told = (failure: unknown) => of({ failure })[0]?.[1];

  test('is its message and what was kept of it', () => {
    expect(told('plain')).toBe('plain');
    expect(told(7)).toBe('7');
    expect(
      told({
        message: 'status 500',
        fault: 'agent',
        code: 'http',
        retryable: false,
        status: 500,
        wait: null,
        evidence: { body: 'line\nmore', empty: '', none: null, list: [1] },
      }),
    ).toBe('status 500\nstatus: 500\nbody\n  line\n  more\nlist\n  [\n    1\n  ]');
    expect(told({ message: 7, evidence: 'as it is' })).toBe('evidence: as it is');
    expect(told({ message: 'm', evidence: null })).toBe('m');
    expect(told({ message: 'm', retryable: true })).toBe('m\nretryable: true');
  });
});

describe('what the agent did', () => {
  test('turns, with their calls', () => {
    const turns = [
      {
        text: 'hi',
        structured: { a: 1 },
        tool_calls: [call, { ...call, result: { ok: true } }],
        latency_ms: 4,
        usage: null,
      },
      { text: null, structured: [2], tool_calls: [], latency_ms: 5, usage: { input_tokens: 3, output_tokens: null } },
      { text: null, structured: null, tool_calls: [], latency_ms: 6, usage: { input_tokens: null } },
    ];
    expect(of({ turns })[0]?.[1]).toBe(
      [
        '1  4 ms',
        '  hi',
        '  shop.refund  reported',
        '    arguments {"amount":3}',
        '  shop.refund  reported',
        '    arguments {"amount":3}',
        '    result {"ok":true}',
        '2  5 ms, input_tokens 3',
        '  [',
        '    2',
        '  ]',
        '3  6 ms',
        '  nothing',
      ].join('\n'),
    );
    expect(of({ turns: [] })).toEqual([]);
  });

  test('tool runs, with decision, time, error and output', () => {
    const run = {
      tool: 'shop.refund',
      tool_run_id: 'trn_1',
      status: 'succeeded',
      decision: null,
      latency_ms: null,
      arguments: { amount: 3 },
      error: null,
      output: null,
    };
    const content = [
      { type: 'text', text: 'done\nwell' },
      { type: 'image', text: 'x' },
      { type: 'text', text: 4 },
      null,
    ];
    const tool_runs = [
      run,
      { ...run, decision: 'allow', latency_ms: 0, output: { content } },
      { ...run, status: 'failed', error: { code: 'E', message: 'no' } },
      { ...run, status: 'failed', error: { code: null, message: null } },
    ];
    expect(of({ tool_runs })).toEqual([
      [
        'tool runs (4)',
        [
          'shop.refund  succeeded  trn_1',
          '  arguments {"amount":3}',
          'shop.refund  succeeded, allow, 0 ms  trn_1',
          '  arguments {"amount":3}',
          '  done',
          '  well',
          '  [image]',
          '  [text]',
          '  [undefined]',
          'shop.refund  failed  trn_1',
          '  arguments {"amount":3}',
          '  error E: no',
          'shop.refund  failed  trn_1',
          '  arguments {"amount":3}',
          '  error : ',
        ].join('\n'),
      ],
    ]);
  });

  test('calls that the answer tells of, trace and usage', () => {
    expect(
      of({ tool_calls: [call], trace: [{ a: 1 }, 'b'], usage: { input_tokens: 3, cost_micro_usd: null, total: 0 } }),
    ).toEqual([
      ['tool calls in the answer (1)', 'shop.refund  reported\n  arguments {"amount":3}'],
      ['trace (2)', '{"a":1}\n"b"'],
      ['usage', 'input_tokens 3, total 0'],
    ]);
    expect(of({ usage: { input_tokens: null } })).toEqual([]);
    expect(of({ not_kept: ['raw', 'trace'] })).toEqual([['not kept', 'raw, trace (the profile’s persistence)']]);
    expect(of({ redacted: ['text', 'usage'] })).toEqual([
      ['redacted', 'text, usage: a secret was taken out after grading'],
    ]);
  });
});

describe('attempts', () => {
  test('have who worked on them, how long, and what came', () => {
    const attempts = [
      attempt({ status: 'stale', fault: 'infrastructure', reason: 'lease_lost', duration_ms: null }),
      attempt({
        attempt: 2,
        worker: { session_id: 'wse_2', name: '', host: '', pid: 0 },
        failure: { message: 'status 500' },
        output: { text: null, structured: { a: 1 } },
        evaluator_results: [result()],
      }),
      attempt({ attempt: 3, decides: true, failure: { message: 'above' }, output: { text: 'hi', structured: 1 } }),
      attempt({ attempt: 4, output: { text: null, structured: null } }),
    ];
    expect(of({ attempts })).toEqual([
      [
        'attempts (4)',
        [
          '1  stale, fault infrastructure, lease_lost',
          '  2026-01-01T00:00:00.000Z, not ended, w1 on box, process 42',
          '2  completed',
          '  2026-01-01T00:00:00.000Z, 12 ms, wse_2',
          '  status 500',
          '  answered {',
          '    "a": 1',
          '  }',
          '  ✓ regex@1  correctness',
          '    passed',
          '3  completed',
          '  2026-01-01T00:00:00.000Z, 12 ms, w1 on box, process 42',
          '  answered hi',
          '4  completed',
          '  2026-01-01T00:00:00.000Z, 12 ms, w1 on box, process 42',
        ].join('\n'),
      ],
    ]);
  });
});

test('the whole is one text; of what is too long every part stays, and every attempt', () => {
  const document = documentOf({ case: { input: 'one\ntwo', context: 'three', expected: null } });
  const whole = 'input\n  one\n  two\ncontext\n  three';
  expect(executionText(document, 'one\ntwothree'.length)).toBe(whole);
  const long = documentOf({
    case: { input: 'in', context: 'c'.repeat(900), expected: 'e'.repeat(900) },
    attempts: [1, 2, 3].map((number) => attempt({ attempt: number, failure: { message: 'm'.repeat(900) } })),
  });
  const [input, context, expected, attempts] = cutSections(executionSections(long), 2_000);
  expect(input?.text).toBe('in');
  expect(context?.text).toBe(`${'c'.repeat(666)} … (900 characters)`);
  expect(expected?.text).toBe(`${'e'.repeat(666)} … (900 characters)`);
  expect(attempts?.text.match(/^\d {2}completed\n {2}2026.*\n {2}m{70}/gm)).toHaveLength(3);
  const few = cutSections(executionSections(long), 160 * 3 + 1_400);
  expect(few.at(-1)?.text.match(/^\d {2}/gm)).toHaveLength(3);
  const many = documentOf({ trace: Array.from({ length: 10 }, () => 't'.repeat(100)) });
  const [trace] = cutSections(executionSections(many), 481);
  expect(trace?.text.split('\n')).toEqual([...Array(3).fill(expect.stringMatching(/^"t+"$/)), '… 7 more']);
  expect(cutSections(executionSections(many), 100)[0]?.text.split('\n')).toHaveLength(2);
});
