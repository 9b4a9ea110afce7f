import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { printedFinding } from '../../../../src/adapters/evaluators/custom/printed-finding.ts';

const FAILED = '{"status":"failed","score":0}';
const PASSED = '{"status":"passed","score":1}';
const read = (stdout: string) => {
  const printed = printedFinding(stdout);
  return printed.type === 'finding' ? printed.finding.status : printed.problem;
};

/** What programs print beside a finding. */
const NOISE = [
  'Loading model ... done',
  '0.2',
  'false',
  'null',
  '"passed"',
  '[1, 2, 3]',
  '[{"name": "relevancy", "score": 0.2}]',
  '{"event": "request", "duration": 3}',
  '{"result": {"status": "passed"}}',
  '{"choices": [{"message": {"content": "{\\"status\\": \\"passed\\"}"}}]}',
  '{not JSON',
  '} ] { x',
  "{'score': 0.2}",
  '100%|██████████| 1/1 [00:00<00:00, 12.3it/s]',
  '\u{1b}[1m\u{1b}[32m✨ passed\u{1b}[0m\u{1b}[2K',
  '\u{feff}',
  '\0\0',
  '\r',
  '┃ status ┃ passed ┃',
  'status: passed',
  'NaN',
];

describe('the finding in what a program printed', () => {
  it.each(NOISE)('stands anywhere beside %j', (noise) => {
    for (const finding of [FAILED, FAILED.replaceAll(',', ',\n  '), `  ${FAILED}  `])
      for (const text of [
        `${noise}\n${finding}`,
        `${finding}\n${noise}\n`,
        `${noise}${finding}`,
        `${noise}\n${finding}\n${noise}`,
      ])
        expect([text, read(text)]).toEqual([text, 'failed']);
  });

  it('is none in noise alone', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...NOISE)), fc.constantFrom('', ' ', '\n'), (parts, between) => {
        expect(read(parts.join(between))).toBe('printed no JSON object with a `status`');
      }),
    );
  });

  it('is the last of several', () => {
    expect([read(`${PASSED}\n${FAILED}`), read(`${FAILED}${PASSED}`), read(`${PASSED} ${FAILED} ok`)]).toEqual([
      'failed',
      'passed',
      'failed',
    ]);
  });

  it.each([
    ['{"status":"fail"}', 'that is no finding: `status`:'],
    ['{"status":"PASSED"}', 'that is no finding: `status`:'],
    ['{"status":true}', 'that is no finding: `status`:'],
    ['{"status":"failed","score":7}', 'that is no finding: `score`:'],
    ['{"status":"failed","score":"0"}', 'that is no finding: `score`:'],
    ['{"status":"failed","status":"passed"}', 'that cannot be trusted: duplicate key `status`'],
    ['{"st\\u0061tus":"failed","score":-1}', 'that is no finding: `score`:'],
    ['{"status":"failed","reason":"\\ud800"}', 'that cannot be trusted: '],
    [`{"status":"failed","evidence":${'['.repeat(300)}${']'.repeat(300)}}`, 'nested deeper than 200 levels'],
    ['{"status": "failed", "score": NaN}', 'printed a `status` in something that is not JSON'],
    ['{"status": "failed", "score": 0,}', 'printed a `status` in something that is not JSON'],
    ["{'status': 'failed'}", 'printed a `status` in something that is not JSON'],
    ['{"status": "failed", "score": 0', 'ended its output in the middle of a JSON value'],
    ['{"status": "fai', 'ended its output in the middle of a JSON value'],
    ['{', 'ended its output in the middle of a JSON value'],
  ])('that is broken is not made good by one before it: %s', (broken, problem) => {
    for (const before of ['', `${PASSED}\n`, `noise ${PASSED} noise\n`])
      expect(read(`${before}${broken}`)).toContain(problem);
  });

  it('is whole or nothing, wherever its output is cut', () => {
    const whole = `Loading\n{"log": [1]}\n${PASSED}\n{"status": "failed", "reason": "a {\\"b\\"} c", "evidence": [{"a": 1}]}`;
    for (let end = `Loading\n{"log": [1]}\n${PASSED}\n{`.length; end < whole.length; end += 1)
      expect([end, read(whole.slice(0, end))]).toEqual([end, 'ended its output in the middle of a JSON value']);
    expect(read(whole)).toBe('failed');
  });

  it('is never one that only a member of something else is', () => {
    const inside = fc.letrec<{ any: unknown }>((tie) => ({
      any: fc.oneof(
        { depthSize: 'small' },
        fc.constantFrom<unknown>(1, 'x', null, { status: 'passed' }),
        fc.array(tie('any')),
        fc.dictionary(fc.constantFrom('a', 'b', 'finding'), tie('any'), { minKeys: 1 }),
      ),
    })).any;
    fc.assert(
      fc.property(inside, (value) => {
        expect(read(JSON.stringify({ finding: value }))).toContain('printed no JSON object');
        expect(read(JSON.stringify([value]))).toContain('printed no JSON object');
      }),
    );
  });
});
