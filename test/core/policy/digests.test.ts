import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { STARTER_POLICY } from '../../../src/cli/starter-policy.ts';
import { policy } from '../../support/policy.ts';

/** Every matcher, effect and limit of the first policies. */
const FIRST = {
  default: 'ask',
  rules: [
    {
      id: 'all',
      tools: ['a.*', 'b.c'],
      when: {
        'args.a': { eq: 'x' },
        'args.b': { in: [1, '2', true, null] },
        'args.c': { glob: 'a*' },
        'args.d': { under: '/w' },
        'args.e': { host: ['a', '*.b'] },
        'args.f': { min: 1, max: 2.5 },
        args: { max_bytes: 10 },
        'args.g': { has: false },
        'args.h': { not: { glob: ['x'] } },
        risk: ['write'],
        pinned: true,
      },
      effect: {
        ask: { approvers: ['role:a'], expires_ms: 5, edit: true, execute: 'attended', reason: 'r' },
      },
    },
    { id: 'b', effect: { deny: { reason: 'no' } } },
    { id: 'c', effect: { allow: { timeout_ms: 5 } } },
  ],
  limits: [
    { id: 'l', per: ['run', 'tool'], calls: 5, window_ms: 60000 },
    { id: 'm', cost_usd: 0.5 },
  ],
};

// Decisions name a policy by its digest, and runs are frozen with one: what was written before keeps it.
test.each([
  ['an empty one', {}, '87ba04e28a69c64ae1b2be2e67c6b6736c41d354976d4b0c1f745871ff8e4d15'],
  ['every matcher', FIRST, '551b5cd59a848f7f6b8d8cf99c8ebb4a63a0ceaad52b0f7dd238fd175681d062'],
])('a policy of before has the digest of before: %s', (_, document, digest) => {
  expect(policy(document).digest).toBe(digest);
});

test('so have the starter and the example, while they are as they were', () => {
  const example = readFileSync(new URL('../../../examples/assistant/policy.yaml', import.meta.url), 'utf8');
  expect([STARTER_POLICY, example].map((text) => policy(parse(text)).digest)).toEqual([
    '3670a86d1d2d3cdf9e071d4eb5f54f782249aaddbe0dc3ad34f997556ddfd2df',
    '70a56bb89a61e8fb48ebe419fd9bf1997c5ab79a1da4a6ee761173ab36d00e65',
  ]);
});
