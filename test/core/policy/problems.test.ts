import { expect, test } from 'vitest';
import { policySchema } from '../../../src/contract/policy.ts';
import { policyProblems } from '../../../src/core/policy/problems.ts';

const tool = (name: string, properties: object, more: object = {}) => ({
  tool: name,
  input_schema: { type: 'object', properties, ...more },
});
const SPEAKER = tool('speaker.set', {
  volume: { type: 'integer' },
  room: { enum: ['kitchen', 'hall'] },
  label: { type: ['string', 'null'] },
  free: {},
  deep: { type: 'object', properties: { path: { type: 'string' } } },
  either: { type: 'string', anyOf: [{ minLength: 1 }] },
});

function told(when: object, tools: readonly ReturnType<typeof tool>[] = [SPEAKER]): string[] {
  const document = policySchema.parse({ version: 1, rules: [{ id: 'r', when, effect: 'allow' }] });
  return policyProblems(document, tools, ['speaker', 'legacy']).map(({ message }) => message);
}

test.each([
  [{ 'args.volume': 'high' }, '`volume` is never "high"'],
  [{ 'args.volume': { in: ['1', 2.5] } }, '`volume` is never "1" or 2.5'],
  [{ 'args.room': ['cellar', 'attic'] }, '`room` is never "cellar" or "attic"'],
  [{ 'args.volume': { under: '/x' } }, '`under` looks at string, and `volume` is integer'],
  [{ 'args.volume': { glob: '*' } }, '`glob` looks at string, and `volume` is integer'],
  [{ 'args.volume': { min: 90, max: 10 } }, 'nothing is at least 90 and at most 10'],
  [{ 'args.room': 'cellar' }, '`room` is never "cellar"'],
  [{ 'args.label': { min: 1 } }, '`min` looks at number, and `label` is string or null'],
  [{ 'args.deep.path': 3 }, '`deep.path` is never 3'],
  [{ source: 'speeker' }, 'no source is named `speeker`'],
])('a condition that no call can meet is told: %j', (when, message) => {
  expect(told(when)).toEqual([message]);
});

test.each([
  [{ 'args.volume': 3, 'args.room': ['hall', 'kitchen'], 'args.label': null, source: 'speaker' }],
  [{ 'args.volume': { min: 1, max: 1 }, 'args.label': { glob: 'a*', max_bytes: 10, has: true } }],
  [{ 'args.free': 'anything', 'args.either': 5, 'args.deep': { max_bytes: 9 }, 'args.deep.path': { under: '/x' } }],
  [{ 'args.volume': { not: 'high' }, 'args.room': ['hall', 'attic'], source: { not: 'legacy' } }],
])('what a call may meet is not: %j', (when) => {
  expect(told(when)).toEqual([]);
});

test('where several tools have the argument, one that may meet it is enough', () => {
  const other = tool('lamp.set', { volume: { type: 'string' } });
  expect(told({ 'args.volume': 'high' }, [SPEAKER, other])).toEqual([]);
  expect(told({ 'args.volume': true }, [SPEAKER, other])).toEqual(['`volume` is never true']);
  for (const more of [{ additionalProperties: { type: 'boolean' } }, { additionalProperties: true }, {}])
    expect(told({ 'args.volume': true }, [SPEAKER, tool('any.set', {}, more)])).toEqual([]);
  const closed = tool('any.set', {}, { additionalProperties: false });
  expect(told({ 'args.volume': true }, [SPEAKER, closed])).toEqual(['`volume` is never true']);
});
