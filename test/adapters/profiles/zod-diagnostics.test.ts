import { expect, test } from 'vitest';
import { z } from 'zod';
import { zodDiagnostics } from '../../../src/adapters/profiles/zod-diagnostics.ts';

const wrong = (schema: z.ZodType, value: unknown) =>
  zodDiagnostics(schema, value).map(({ diagnostic: { message, hint } }) => [message, hint]);

test('a bound is told with the value that is beyond it', () => {
  const of = (schema: z.ZodType, found: unknown) => wrong(z.object({ a: schema }), { a: found })[0]?.[0];
  expect(of(z.number().positive(), -4)).toBe('must be more than 0, but it is -4');
  expect(of(z.number().min(1), 0.5)).toBe('must be at least 1, but it is 0.5');
  expect(of(z.number().lt(3), 3)).toBe('must be less than 3, but it is 3');
  expect(of(z.number().max(1), 9)).toBe('must be at most 1, but it is 9');
  expect(of(z.string().min(1), '')).toBe('must not be empty');
  expect(of(z.string().max(2), 'abc')).toBe('must have at most 2 characters');
  expect(of(z.array(z.json()).min(1), [])).toBe('must not be empty');
  expect(of(z.array(z.json()).min(2), [1])).toBe('must have at least 2 entries');
});
