import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { type CustomEvaluatorContext, customEvaluatorOf } from '../../../../src/adapters/evaluators/custom/index.ts';
import { envelope } from '../../../../src/contract/agent.ts';
import { type Evaluator, type EvaluatorInput, type Finding, finding } from '../../../../src/contract/evaluator.ts';
import { ProctorError } from '../../../../src/contract/problem.ts';
import { hasProcessTable, processRows } from '../../../../src/lib/proc-table.ts';
import { httpServer } from '../../transport/server.ts';

const fixtures = join(import.meta.dirname, 'fixtures');
const KEY = 'grader-key-123456';
const opened: Evaluator[] = [];

afterEach(async () => {
  await Promise.all(opened.splice(0).map((evaluator) => evaluator.close()));
});

async function open(ref: string, context: Partial<CustomEvaluatorContext> = {}): Promise<Evaluator> {
  const evaluator = customEvaluatorOf(ref);
  if (evaluator === null) throw new Error(`${ref} is no own evaluator`);
  const environment = { PATH: process.env['PATH'], OPENAI_API_KEY: 'must-not-leak' };
  const resolve = (text: string) => text.replace(/\$\{secret:KEY\}/g, KEY);
  const found = await evaluator.open({
    base_dir: fixtures,
    config: {},
    timeout_ms: 5_000,
    memory_mb: 1_024,
    grade_by: 'finding',
    resolve,
    redact: (text) => text.replaceAll(KEY, '[secret KEY]'),
    concurrency: 2,
    environment,
    ...context,
  });
  opened.push(found);
  return found;
}

function input(text: string | null, expected: unknown, structured: unknown = null): EvaluatorInput {
  return {
    case: {
      case_id: 'c',
      task_type: 'default',
      input: 'question',
      expected,
      context: null,
      tags: ['t'],
      metadata: { m: 1 },
    },
    envelope: envelope({ text, structured: structured as never }),
    latency_ms: 12,
    run_id: 'run_1',
    execution_id: 'exe_1',
    attempt_id: 'att_1',
    repeat: 3,
  };
}

const signal = new AbortController().signal;
const grade = async (
  ref: string,
  graded: EvaluatorInput,
  context: Partial<CustomEvaluatorContext> = {},
): Promise<Finding | string> => {
  const evaluator = await open(ref, context);
  expect(evaluator.external).toBe(true);
  try {
    return await evaluator.evaluate(graded, { signal });
  } catch (error) {
    return (error as Error).message;
  }
};

describe('a module evaluator', () => {
  it('gets the whole document and the members that scorers read', async () => {
    const graded = input('4', { text: '4' });
    const found = await grade('module:scorers.ts#whole', graded, {
      config: { threshold: 0.9, model: 'm', output: 'shadowed' },
    });
    const document = {
      ...graded,
      config: { threshold: 0.9, model: 'm', output: 'shadowed' },
      input: 'question',
      output: '4',
      expected: '4',
      threshold: 0.9,
      model: 'm',
    };
    expect(found).toEqual({ status: 'passed', severity: 'low', score: 0.75, reason: 'seen', evidence: document });
  });

  it('may be a scorer of autoevals, unchanged', async () => {
    const levenshtein = await grade('module:scorers.ts#Levenshtein', input('kitten', 'sitting'));
    expect(levenshtein).toMatchObject({
      status: 'passed',
      reason: 'Levenshtein 0.5714 is at least 0.5',
      evidence: { name: 'Levenshtein' },
    });
    expect((levenshtein as Finding).score).toBeCloseTo(1 - 3 / 7, 10);
    expect(
      await grade('module:scorers.ts#Levenshtein', input('kitten', 'sitting'), { config: { threshold: 0.9 } }),
    ).toMatchObject({ status: 'failed', reason: 'Levenshtein 0.5714 is below 0.9' });
    expect(await grade('module:scorers.ts#ExactMatch', input('yes', 'yes'))).toMatchObject({
      status: 'passed',
      score: 1,
    });
    expect(await grade('module:scorers.ts#ExactMatch', input('yes', 'no'))).toMatchObject({
      status: 'failed',
      score: 0,
    });
    expect(await grade('module:scorers.ts#ExactMatch', input(null, { a: 1 }, { a: 1 }))).toMatchObject({
      status: 'passed',
      score: 1,
    });
  });

  it.each([
    ['score', finding('failed', 'score 0.25 is below 0.5', { score: 0.25 })],
    ['yes', finding('passed', null)],
    ['none', finding('skipped', 'Judge gave no score', { evidence: { name: 'Judge', metadata: null } })],
    [
      'rationale',
      finding('failed', 'Judge 0.2 is below 0.5: it is off the point', {
        score: 0.2,
        evidence: { name: 'Judge', metadata: { rationale: 'it is off the point' } },
      }),
    ],
    ['erred', '`module:scorers.ts#erred` erred: no quota'],
    ['tooHigh', '`module:scorers.ts#tooHigh` gave the score 7; a score is from 0 to 1'],
    ['throws', '`module:scorers.ts#throws` failed: no such model'],
    [
      'malformed',
      expect.stringMatching(/^`module:scorers\.ts#malformed` gave no finding: `status`: .*; answer \{"status"/),
    ],
  ])('`%s` is read by the shape of its answer', async (name, expected) => {
    expect(await grade(`module:scorers.ts#${name}`, input('a', 'b'))).toEqual(expected);
  });

  it('in a loop is ended, and the case beside it is graded again in a new thread', async () => {
    const evaluator = await open('module:scorers.ts#loopFor', { timeout_ms: 400 });
    const beside = evaluator.evaluate(input('x', 'fine'), { signal });
    const looping = evaluator.evaluate(input('x', 'loop'), { signal });
    await expect(looping).rejects.toThrow('`module:scorers.ts#loopFor` gave no finding within 400 ms');
    expect(await beside).toEqual(finding('passed', null, { evidence: 1 }));
  });

  it('that takes too much memory is ended, and says how much it may take', async () => {
    const context = { memory_mb: 256, timeout_ms: 60_000 };
    expect(await grade('module:scorers.ts#hungry', input('100', null), context)).toMatchObject({ status: 'passed' });
    expect(await grade('module:scorers.ts#hungry', input('2000', null), context)).toBe(
      '`module:scorers.ts#hungry` failed: the module took more than 256 MB of memory and its thread was terminated; set `memory_mb` where it needs more',
    );
  });

  it.runIf(hasProcessTable)('ends what it started when it is closed', async () => {
    const evaluator = await open('module:scorers.ts#starts');
    const { evidence } = await evaluator.evaluate(input('x', null), { signal });
    expect([...processRows()].map(({ pid }) => pid)).toContain(evidence);
    await evaluator.close();
    expect([...processRows()].map(({ pid }) => pid)).not.toContain(evidence);
  });

  it('that cannot be used is refused when it is opened', async () => {
    await expect(open('module:scorers.ts#absent')).rejects.toThrow('has no export `absent`');
    await expect(open('module:scorers.ts#score', { config: { threshold: 2 } })).rejects.toThrow(
      'is not a number from 0 to 1',
    );
  });
});

const fault = (text: string) => expect.stringContaining(text);

describe('a command evaluator', () => {
  it.each([
    ['json', finding('failed', 'half', { score: 0.5 })],
    [
      'right',
      fault(
        '`command:grade.sh` gave no finding: it printed no JSON object with a `status`; stdout ends with: fine; print {',
      ),
    ],
    [
      'wrong',
      fault(
        'it exited with code 1 and printed no JSON object with a `status`; stdout ends with: expected something else',
      ),
    ],
    ['silent', fault('it exited with code 1 and printed no JSON object with a `status`; print {')],
    ['both', finding('failed', null)],
    ['proud', fault('it printed `passed` and then exited with code 1; stdout ends with: {"status": "passed"}')],
    ['torn', fault('it ended its output in the middle of a JSON value; stdout ends with: {"status":')],
    ['killed', fault('was ended by SIGKILL')],
    [
      'other',
      fault(
        'it exited with code 2 and printed no JSON object with a `status`; stderr ends with: cannot grade att_1  [secret KEY]',
      ),
    ],
  ])('tells by the finding that it prints, and shows what it said where there is none: %s', async (text, expected) => {
    expect(await grade('command:grade.sh', input(text, null))).toEqual(expected);
  });

  it.each([
    ['right', finding('passed', null)],
    ['wrong', finding('failed', 'expected something else')],
    ['silent', finding('failed', 'exit code 1')],
    ['json', finding('failed', expect.stringContaining('half'))],
    ['both', fault('it exited with code 0 and printed `failed`; leave `grade_by` out')],
    ['proud', fault('it exited with code 1 and printed `passed`; leave `grade_by` out')],
    ['other', fault('it exited with code 2; 0 is passed and 1 is failed; stderr ends with: cannot grade att_1')],
  ])('tells by its exit code where the profile says so: %s', async (text, expected) => {
    expect(await grade('command:grade.sh', input(text, null), { grade_by: 'exit_code' })).toEqual(expected);
  });

  it.each(['finding', 'exit_code'] as const)('that can never run is set up wrongly, by %s', async (grade_by) => {
    const graded = ['absent', 'unusable'].map((text) => grade('command:grade.sh', input(text, null), { grade_by }));
    expect(await Promise.all(graded)).toEqual([
      expect.objectContaining({ status: 'error', fault: 'configuration', reason: fault('proctor-no-such-command') }),
      expect.objectContaining({ status: 'error', fault: 'configuration', reason: fault('exited with code 126') }),
    ]);
  });

  it('is run by its ending', async () => {
    expect(await grade('command:grade.py', input('a', 'a'), { config: { strict: true } })).toEqual(
      finding('passed', null, { evidence: { config: { strict: true } } }),
    );
    expect(await grade('command:grade.ts', input('a', 'a'))).toEqual(finding('passed', 'repeat 3'));
  });

  it('that does not end is killed, whatever it printed', async () => {
    expect(await grade('command:grade.sh', input('hang', null), { timeout_ms: 200 })).toMatch(
      /^`command:grade\.sh` gave no finding: .* did not end within 200 ms/,
    );
  });

  it.runIf(hasProcessTable)('is ended with all that it started', async () => {
    expect(await grade('command:grade.sh', input('leaves', null))).toEqual(finding('failed', null));
    expect(await grade('command:grade.sh', input('hungry', null), { memory_mb: 256, timeout_ms: 60_000 })).toBe(
      '`command:grade.sh` gave no finding: it took more than 256 MB of memory and was killed; set `memory_mb` where it needs more',
    );
  });

  it('that cannot be run is refused when it is opened, and is set up wrongly when it goes away later', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'proctor-evaluator-'));
    await writeFile(join(folder, 'grade'), '#!/bin/sh\n', { mode: 0o644 });
    await expect(open('command:grade', { base_dir: folder })).rejects.toThrow(
      'the evaluator `command:grade` may not be executed; set its executable bit',
    );
    await expect(open('command:absent.sh', { base_dir: folder })).rejects.toThrow(
      'the evaluator `command:absent.sh` does not exist',
    );
    await writeFile(join(folder, 'gone'), '#!/bin/sh\n', { mode: 0o755 });
    const gone = await open('command:gone', { base_dir: folder });
    await rm(folder, { recursive: true });
    expect(await gone.evaluate(input('a', 'a'), { signal })).toMatchObject({
      status: 'error',
      fault: 'configuration',
      reason: fault('could not be started'),
    });
  });
});

describe('an HTTP evaluator', () => {
  it('gets the document by POST and answers a finding', async () => {
    await using server = await httpServer((_, response) => response.end('{"status":"failed","reason":"no"}'));
    const headers = { Authorization: `Bearer \${secret:KEY}` };
    expect(await grade(`${server.url}/grade`, input('a', 'b'), { config: { headers, strict: 1 } })).toEqual(
      finding('failed', 'no'),
    );
    expect(server.seen[0]).toMatchObject({
      method: 'POST',
      path: '/grade',
      headers: { authorization: `Bearer ${KEY}` },
    });
    expect(JSON.parse(server.seen[0]?.body ?? '')).toEqual({ ...input('a', 'b'), config: { strict: 1 } });
  });

  it('that gives no finding is an error, without the secret', async () => {
    await using server = await httpServer((seen, response) => {
      if (seen.path === '/hang') return;
      if (seen.path === '/status') response.writeHead(500).end(`bad ${seen.headers.authorization}`);
      else response.end(seen.path === '/text' ? `fine ${seen.headers.authorization}` : '{"score":1}');
    });
    const config = { headers: { authorization: `\${secret:KEY}` } };
    const graded = await Promise.all(
      ['/status', '/text', '/shape', '/hang'].map((path) =>
        grade(server.url + path, input('a', 'b'), { config, timeout_ms: 300 }),
      ),
    );
    expect(graded).toEqual([
      {
        status: 'error',
        score: null,
        severity: 'none',
        reason: `\`${server.url}/status\` answered with status 500: bad [secret KEY]`,
        evidence: null,
      },
      `\`${server.url}/text\` answered something that is not JSON: fine [secret KEY]`,
      expect.stringContaining('gave no finding: `status`'),
      `\`${server.url}/hang\` gave no finding (timeout): no whole response within 300 ms`,
    ]);
  });
});

it('a ref is an own evaluator by how it begins, and its files are frozen', () => {
  const of = (ref: string) => customEvaluatorOf(ref)?.code ?? null;
  expect(
    ['module:a.ts#b', 'module:a.ts', 'command:bin/grade', 'https://grader.example/', 'exact_match@1'].map(of),
  ).toEqual([['a.ts'], ['a.ts'], ['bin/grade'], [], null]);
});

it.each(['module:', 'module:a.ts#', 'command:', 'http://grader.example/', 'https://u:p@grader.example/', 'https://'])(
  'the malformed ref `%s` is refused',
  (ref) => {
    const caught = (() => {
      try {
        return customEvaluatorOf(ref);
      } catch (error) {
        return error;
      }
    })();
    expect(ProctorError.is(caught) && caught.code).toBe('invalid_profile');
  },
);
