import { describe, expect, test } from 'vitest';
import { statusFault } from '../../src/adapters/transport/http-faults.ts';
import { CAUTION, cureOf, holdsBack, lengthened, patienceOf, type Streak, trips } from '../../src/core/breaker.ts';

describe('a breaker', () => {
  const start: Streak = { class: null, failures: 0 };
  const streakOf = (...classes: string[]) =>
    classes.reduce<Streak>((streak, name) => lengthened(streak, { class: name }), start);

  test('counts failures of the same reason; another reason begins anew', () => {
    expect(streakOf('http_401', 'http_401')).toEqual({ class: 'http_401', failures: 2 });
    expect(streakOf('http_401', 'http_401', 'dns')).toEqual({ class: 'dns', failures: 1 });
  });

  test('trips at the third failure by configuration, or when the run has no more executions', () => {
    const report = { fault: 'configuration', patience: patienceOf('configuration', 5) } as const;
    expect([1, 2, 3].map((failures) => trips({ class: 'a', failures }, report, 1, 100))).toEqual([false, false, true]);
    expect(trips({ class: 'a', failures: 1 }, report, 1, 1)).toBe(true);
    expect(trips({ class: 'a', failures: 1 }, report, 1, 2)).toBe(false);
  });

  test('gives infrastructure the time of its retries: one execution has failed three times, or as often as it may', () => {
    const report = { fault: 'infrastructure', patience: patienceOf('infrastructure', 5) } as const;
    expect([1, 2, 3].map((rounds) => trips({ class: 'dns', failures: 50 }, report, rounds, 100))).toEqual([
      false,
      false,
      true,
    ]);
    expect(trips({ class: 'dns', failures: 4 }, report, 3, 100)).toBe(false);
    expect(trips({ class: 'dns', failures: 5 }, report, 3, 100)).toBe(true);
    expect(CAUTION).toBe(5);
    expect([patienceOf('infrastructure', 0), patienceOf('infrastructure', 1)]).toEqual([1, 2]);
  });

  test('holds an attempt back until its execution has failed three times, and whenever the run was stopped', () => {
    expect([1, 2, 3, 4].map((rounds) => holdsBack(false, rounds))).toEqual([true, true, false, false]);
    expect([1, 3].map((rounds) => holdsBack(true, rounds))).toEqual([true, true]);
  });

  test.each<[string | null, RegExp]>([
    ['http_401', /secret or token/],
    ['http_402', /may spend/],
    ['http_403', /token .* may do/],
    ['http_404', /path .* name of the model/],
    ['http_405', /method/],
    ['http_407', /proxy/],
    ['http_410', /path of/],
    ['connection_refused', /start the agent/],
    ['connect_timeout', /can be reached/],
    ['unreachable', /can be reached/],
    ['dns', /host/],
    ['tls', /certificate/],
    ['spawn_failed', /cwd/],
    ['exit_126', /executed/],
    ['exit_127', /installed/],
    ['api_key_invalid', /check the key/],
    ['authentication_error', /check the key/],
    ['invalid_api_key', /check the key/],
    ['account_deactivated', /key .* may do/],
    ['permission_error', /key .* may do/],
    ['billing_hard_limit_reached', /account may spend/],
    ['insufficient_quota', /account may spend/],
    ['something else', /is there and takes calls/],
    [null, /is there and takes calls/],
  ])('names the cure of %s', (reason, cure) => {
    expect(cureOf('agent', reason)).toMatch(cure);
    expect(cureOf('evaluators', reason)).toMatch(/^check the evaluator/);
  });
});

test('a status is whose fault it is by itself and by the code that a provider sends with it', () => {
  const fault = (status: number, body: unknown = '', headers = {}) =>
    statusFault(status, typeof body === 'string' ? body : JSON.stringify(body), headers);
  for (const status of [401, 403, 407]) expect(fault(status)).toEqual({ fault: 'configuration' });
  for (const status of [402, 404, 405, 410]) expect(fault(status)).toEqual({ fault: 'agent', suspect: true });
  for (const status of [400, 409, 413, 422, 500, 501]) expect(fault(status)).toEqual({ fault: 'agent' });
  for (const status of [408, 502, 503, 504]) expect(fault(status)).toEqual({ fault: 'infrastructure' });
  expect(fault(429)).toEqual({ fault: 'infrastructure', throttled: true });
  expect(fault(503, '', { 'retry-after': '3' })).toEqual({ fault: 'infrastructure', throttled: true });
  for (const body of [
    { error: { message: 'no such model', type: 'invalid_request_error', code: 'model_not_found' } },
    { type: 'error', error: { type: 'not_found_error', message: 'model: x' } },
    { error: { code: 'DeploymentNotFound' } },
    { error: { type: 'invalid_request_error', code: 'invalid_api_key' } },
  ])
    for (const status of [400, 404]) {
      const found = fault(status, body);
      expect(found).toEqual({ fault: 'configuration', class: expect.any(String) });
      expect(cureOf('agent', found.class ?? null)).toMatch(/the model|the key/); // not that the agent is there
    }
  expect(fault(401, { error: { code: 'invalid_api_key' } })).toEqual({ fault: 'configuration' });
  const spent = fault(429, { error: { code: 'insufficient_quota' } });
  expect(spent).toEqual({ fault: 'configuration', class: 'insufficient_quota' });
  expect(cureOf('agent', spent.class ?? null)).toContain('spend');
  for (const body of [
    '{"error": {"code": "model_not_found"',
    'model_not_found',
    { error: 'model_not_found' },
    { error: { code: 7 } },
  ])
    expect(fault(404, body)).toEqual({ fault: 'agent', suspect: true });
  expect(fault(500, { error: { code: 'model_not_found' } })).toEqual({ fault: 'agent' });
});
