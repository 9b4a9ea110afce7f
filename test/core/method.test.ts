import { expect, test } from 'vitest';
import { CURRENT_METHOD, methodOf } from '../../src/core/method.ts';
import { HALF, profileOf } from '../support/verdicts.ts';

test('new runs are computed by the second method, runs from before methods were numbered by the first', () => {
  const of = (method?: 1 | 2) => {
    const found = methodOf(method === undefined ? {} : { method });
    const verdict = found.verdict(
      { profile: profileOf({ gate: { max_infra_rate: 0 } }), group_cases: [4] },
      'snapshot',
    );
    for (const outcome of HALF) verdict.add(outcome);
    const { snapshot_digest, pass_rate, interval_method } = verdict.end('content');
    return { version: found.version, snapshot_digest, pass_rate, interval_method };
  };
  const first = { version: 1, snapshot_digest: 'snapshot', pass_rate: 0.5, interval_method: 'wilson' };
  expect([of(), of(1)]).toEqual([first, first]);
  expect(of(CURRENT_METHOD)).toEqual({ ...first, version: 2, interval_method: 'gaffke' });
});

test('a method that is not known needs a newer Proctor', () => {
  expect(() => methodOf({ method: 3 as 2 })).toThrow('computed by method 3, and this Proctor knows 1 and 2');
});
