import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { simulatedOperatorSchema } from '../../src/contract/gateway-profile.ts';
import { simulatedOperator } from '../../src/core/simulated-operator.ts';

const operator = (settings: object, execution = { seed: 7, ordinal: 3 }) =>
  simulatedOperator(simulatedOperatorSchema.parse(settings), execution);

describe('without a script', () => {
  test.each([
    ['approve', { approve: true, delay_ms: 5, comment: 'so be it' }],
    ['deny', { approve: false, delay_ms: 5, comment: 'so be it' }],
    ['ignore', null],
  ])('the default is to %s', (answer, expected) => {
    expect(operator({ default: answer, delay_ms: 5, comment: 'so be it' }).answer('fs.write', {})).toEqual(expected);
  });
});

describe('the first entry that fits answers', () => {
  const script = [
    { tools: 'fs.*', arguments: { path: '/a', deep: { x: [1] } }, answer: 'approve', delay_ms: 1, comment: 'first' },
    { tools: ['net.*', 'fs.read'], answer: 'ignore' },
    { answer: 'approve' },
  ];
  const answers = operator({ script, delay_ms: 9, comment: 'else' });

  test('by tool and by arguments, each equal as JSON', () => {
    expect(answers.answer('fs.write', { deep: { x: [1] }, path: '/a', more: 1 })).toEqual({
      approve: true,
      delay_ms: 1,
      comment: 'first',
    });
    const otherwise = { approve: true, delay_ms: 9, comment: 'else' };
    expect(answers.answer('fs.write', { path: '/a' })).toEqual(otherwise);
    expect(answers.answer('fs.write', { path: '/b', deep: { x: [1] } })).toEqual(otherwise);
    expect(answers.answer('db.write', { path: '/a', deep: { x: [1] } })).toEqual(otherwise);
    expect(answers.answer('fs.read', {})).toBeNull();
    expect(answers.answer('net.get', {})).toBeNull();
  });

  test('an argument that an object inherits is none', () => {
    const wants = operator({ default: 'deny', script: [{ arguments: { constructor: null }, answer: 'approve' }] });
    expect(wants.answer('a.b', {})?.approve).toBe(false);
    expect(wants.answer('a.b', { constructor: null })?.approve).toBe(true);
  });
});

test('an entry answers so many calls, then the next does', () => {
  const answers = operator({
    script: [
      { tools: 'a.*', answer: 'approve', times: 2 },
      { tools: 'b.*', answer: 'approve', times: 1 },
    ],
  });
  const asked = ['a.x', 'b.x', 'a.y', 'a.z', 'b.y'].map((tool) => answers.answer(tool, {})?.approve);
  expect(asked).toEqual([true, true, true, false, false]);
});

describe('an entry with a share', () => {
  const drawn = (seed: number, ordinal: number, asked: number, index: number) => {
    const text = JSON.stringify([seed, ordinal, asked, index]);
    const hash = createHash('sha256').update(`proctor/simulated_operator/1\n${text}`).digest('hex');
    return Number(BigInt(`0x${hash.slice(0, 12)}`)) / 2 ** 48;
  };

  test('answers the calls that are drawn by seed, execution, call and entry', () => {
    const script = [
      { tools: 'none.*', answer: 'ignore' },
      { share: 0.4, answer: 'approve' },
    ];
    for (const [seed, ordinal] of [
      [1, 2],
      [1, 3],
      [2, 2],
    ] as const) {
      const answers = operator({ script }, { seed, ordinal });
      const found = Array.from({ length: 30 }, () => answers.answer('a.b', {})?.approve);
      expect(found).toEqual(found.map((_, index) => drawn(seed, ordinal, index + 1, 1) < 0.4));
    }
  });

  test('of 1 answers all, also where the draw would be 1', () => {
    const answers = operator({ script: [{ share: 1, answer: 'approve' }] });
    expect(Array.from({ length: 50 }, () => answers.answer('a.b', {})?.approve).every(Boolean)).toBe(true);
  });
});
