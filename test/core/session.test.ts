import { describe, expect, test } from 'vitest';
import type { Envelope, Usage } from '../../src/contract/agent.ts';
import { envelopeSchema } from '../../src/contract/agent.ts';
import { type Finding, finding } from '../../src/contract/evaluator.ts';
import { gradedTurns, sessionEnvelope, sessionFinding, turnEnvelope, turnsOf } from '../../src/core/session.ts';

const NO_INPUT = '`input` must be `{turns: [...]}` with at least one turn: its group grades sessions';
const turns = (...list: readonly unknown[]) => ({ turns: list });

describe('the turns of a case', () => {
  test('with what is expected of each, null for nothing', () => {
    expect(turnsOf(turns('a', 2), turns('x', null))).toEqual([
      { input: 'a', expected: 'x' },
      { input: 2, expected: null },
    ]);
    const nothing = [{ input: 'a', expected: null }];
    for (const expected of [null, undefined, turns()]) expect(turnsOf(turns('a'), expected)).toEqual(nothing);
  });

  test.each([null, undefined, 'text', [], {}, { turns: 'a' }, turns()])('%j is no input of a session', (input) => {
    expect(turnsOf(input, null)).toBe(NO_INPUT);
  });

  test('at most 200', () => {
    const many = new Array(200).fill('a');
    expect(turnsOf(turns(...many), null)).toHaveLength(200);
    expect(turnsOf(turns(...many, 'b'), null)).toBe('a session has at most 200 turns, this one 201');
  });

  test.each([turns('x'), turns('x', 'y', 'z'), 'x', {}])('%j is expected of no session with two turns', (expected) => {
    expect(turnsOf(turns('a', 'b'), expected)).toBe(
      '`expected` must be `{turns: [...]}` with an entry for each of the 2 turns, null for none',
    );
  });
});

describe('the turns that an evaluator looks at', () => {
  const of = (...expected: readonly unknown[]) => expected.map((one, index) => ({ input: index, expected: one }));

  test('each that expects something, all where none does, or the last', () => {
    const at = (list: ReturnType<typeof of>, which: 'each' | 'last') =>
      gradedTurns(list, which).map(({ index }) => index);
    expect(at(of(null, 'x', null, 'y', null), 'each')).toEqual([1, 3]);
    expect(at(of(null, null), 'each')).toEqual([0, 1]);
    expect(at(of('x', null), 'last')).toEqual([1]);
    expect(gradedTurns(of('x'), 'each')).toEqual([{ input: 0, expected: 'x', index: 0 }]);
  });
});

const usage = (members: Partial<Usage> = {}): Usage => ({
  cost_micro_usd: 5,
  input_tokens: 10,
  output_tokens: 20,
  total_tokens: 30,
  ...members,
});
const envelope = (members: object = {}): Envelope => envelopeSchema.parse(members);

describe('the envelope of a session', () => {
  const first = envelope({
    text: 'one',
    structured: { a: 1 },
    raw: 'raw',
    tool_calls: [{ name: 't' }],
    trace: ['s'],
    usage: usage(),
    metadata: { id: 1 },
  });
  const second = envelope({
    text: 'two',
    structured: [2],
    tool_calls: [{ name: 'u' }],
    trace: ['z'],
    usage: usage({ cost_micro_usd: null }),
    metadata: { id: 2 },
  });

  test('has text, structured and metadata of the last turn, and what was called and used in all', () => {
    expect(
      sessionEnvelope([
        { envelope: first, latency_ms: 7 },
        { envelope: second, latency_ms: 8 },
      ]),
    ).toEqual({
      metadata: { id: 2 },
      raw: null,
      structured: [2],
      text: 'two',
      tool_calls: [...first.tool_calls, ...second.tool_calls],
      trace: ['s', 'z'],
      turns: [
        { latency_ms: 7, structured: { a: 1 }, text: 'one', tool_calls: first.tool_calls, usage: usage() },
        {
          latency_ms: 8,
          structured: [2],
          text: 'two',
          tool_calls: second.tool_calls,
          usage: usage({ cost_micro_usd: null }),
        },
      ],
      usage: { cost_micro_usd: null, input_tokens: 20, output_tokens: 40, total_tokens: 60 },
    });
  });

  test('what one turn does not tell is not known; where none tells anything there is no usage', () => {
    const used = (...list: readonly (Usage | null)[]) =>
      sessionEnvelope(list.map((one) => ({ envelope: envelope({ usage: one }), latency_ms: 0 }))).usage;
    expect(used(null, null)).toBeNull();
    expect(used(usage(), null)).toEqual({
      cost_micro_usd: null,
      input_tokens: null,
      output_tokens: null,
      total_tokens: null,
    });
    expect(used(usage({ input_tokens: null }), usage())).toEqual(
      usage({ cost_micro_usd: 10, input_tokens: null, output_tokens: 40, total_tokens: 60 }),
    );
  });

  test('of three turns the third is the last', () => {
    expect(sessionEnvelope([first, first, second].map((one) => ({ envelope: one, latency_ms: 0 }))).text).toBe('two');
  });

  test('of no turn is empty', () => {
    expect(sessionEnvelope([])).toEqual({
      metadata: {},
      raw: null,
      structured: null,
      text: null,
      tool_calls: [],
      trace: [],
      turns: [],
      usage: null,
    });
  });

  test('one turn by itself keeps the metadata of all and has neither trace nor raw', () => {
    const { structured, text, tool_calls } = first;
    expect(turnEnvelope(second, { structured, text, tool_calls, usage: usage(), latency_ms: 9 })).toEqual({
      metadata: { id: 2 },
      raw: null,
      structured: { a: 1 },
      text: 'one',
      tool_calls: first.tool_calls,
      trace: [],
      usage: usage(),
    });
  });
});

describe('what was found of the turns as one finding', () => {
  const found = (status: Finding['status'], reason: string | null = null, members: Partial<Finding> = {}) =>
    finding(status, reason, members);
  const of = (...list: readonly Finding[]) =>
    sessionFinding(list.map((one, index) => ({ turn: index + 1, found: one })));

  test('an error decides, before all one that trying again cannot mend', () => {
    const erred = found('error', 'broke', { severity: 'high' });
    expect(of(found('failed'), erred, found('error', 'later'))).toEqual({ ...erred, reason: 'turn 2: broke' });
    const wrong = found('error', null, { fault: 'configuration' });
    const again = found('error', 'again', { fault: 'configuration' });
    expect(of(erred, wrong, again)).toEqual({ ...wrong, reason: 'turn 2: error' });
  });

  test('nothing graded', () => {
    expect(of(found('skipped'), found('skipped'))).toEqual(finding('skipped', 'no turn was graded'));
  });

  test('all passed: the mean of the scores, 1 where there is none, without those that were skipped', () => {
    const told = of(
      found('passed'),
      found('skipped', 'not asked'),
      found('passed', 'fine', { score: 0.5, evidence: { x: 1 } }),
    );
    expect(told).toEqual(
      finding('passed', 'all 2 turns passed', {
        score: 0.75,
        evidence: {
          turns: [
            { turn: 1, status: 'passed', score: null, reason: null, evidence: null },
            { turn: 2, status: 'skipped', score: null, reason: 'not asked', evidence: null },
            { turn: 3, status: 'passed', score: 0.5, reason: 'fine', evidence: { x: 1 } },
          ],
        },
      }),
    );
  });

  test('the first that failed gives reason and severity', () => {
    const bad = found('failed', 'wrong', { severity: 'medium' });
    expect(of(found('passed'), bad)).toMatchObject({
      status: 'failed',
      reason: 'turn 2: wrong',
      severity: 'medium',
      score: 0.5,
    });
    expect(of(bad, bad)).toMatchObject({ reason: 'turn 1: wrong; 2 turns failed' });
    expect(of(found('failed'), bad, bad)).toMatchObject({ reason: 'turn 1: failed; 3 turns failed', severity: 'none' });
  });

  test('what evaluators took is added up where a budget looks for it', () => {
    const spent = (...list: readonly Finding['evidence'][]) => {
      const { evidence } = of(...list.map((evidence) => found('passed', null, { evidence })));
      const { turns: _, ...costs } = evidence as Record<string, unknown>;
      return costs;
    };
    expect(spent({ cost_micro_usd: 3, tokens: 10 }, null, { cost_micro_usd: 4 })).toEqual({
      cost_micro_usd: 7,
      tokens: 10,
    });
    expect(spent({ tokens: 10 })).toEqual({ cost_micro_usd: 0, tokens: 10 });
    expect(spent({ cost_micro_usd: 2 })).toEqual({ cost_micro_usd: 2, tokens: 0 });
    expect(spent({ cost_micro_usd: 2, tokens: 2 })).toEqual({ cost_micro_usd: 2, tokens: 2 });
    expect(spent({ tokens: 'many' }, { other: 1 })).toEqual({});
  });
});
