import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { profileSchema } from '../../src/contract/profile.ts';

const prompt = 'def double(number):\n    """Twice the number."""\n';
const checks = 'def check(candidate):\n    assert candidate(2) == 4\n    assert candidate(-1) == -2\n';

test('a right completion passes', () => {
  expect(grade('    return 2 * number\n')).toEqual({
    status: 'passed',
    score: 1,
    reason: '`double` passed its checks',
    evidence: null,
  });
});

test('test and entry point may stand together in the expected output', () => {
  const found = graded({
    case: { input: prompt, expected: { test: checks, entry_point: 'double' }, context: null },
    envelope: { text: '    return 2 * number\n' },
  });
  expect(found.status).toBe('passed');
});

test.each([
  ['a wrong answer', '    return number * number\n', 'AssertionError'],
  ['a raised error', '    raise ValueError(object())\n', 'ValueError: <object object at 0x…>'],
  ['no Python', '    return (\n', "SyntaxError: '(' was never closed"],
  ['an early end that looks like success', '    import os\n    os._exit(0)\n', 'ended before its checks were done'],
  ['no end', '    while True: pass\n', 'did not finish within 1 s'],
  [
    'a child that holds on',
    "    import subprocess\n    subprocess.run(['sleep', '600'])\n",
    'did not finish within 1 s',
  ],
  ['no text', null, 'the agent gave no text'],
])('%s fails with its reason', (_, completion, reason) => {
  const found = grade(completion);
  expect({ status: found.status, score: found.score, reason: found.reason }).toEqual({
    status: 'failed',
    score: 0,
    reason,
  });
});

test('the same answer is graded in the same bytes', () => {
  const first = grade('    raise ValueError(object())\n');
  expect(first).toEqual(grade('    raise ValueError(object())\n'));
  expect(JSON.stringify(first.evidence)).toContain('File \\"program.py\\", line');
});

test('a case that cannot be graded is an error of the grader, not a failure of the agent', () => {
  const found = graded({ case: { input: prompt }, envelope: { text: '' } });
  expect([found.status, found.score]).toEqual(['error', null]);
});

test('the profile has the shape of a profile', () => {
  const profile = profileSchema.parse(parse(readFileSync('examples/humaneval/profile.yaml', 'utf8')));
  expect(profile.case_groups[0]?.evaluators[0]).toMatchObject({
    ref: 'command:grade.py',
    dimension: 'correctness',
    blocking: true,
  });
});

interface Found {
  readonly status: string;
  readonly score: number | null;
  readonly reason: string;
  readonly evidence: unknown;
}

function grade(completion: string | null): Found {
  return graded({ case: { input: prompt, expected: checks, context: 'double' }, envelope: { text: completion } });
}

function graded(document: unknown): Found {
  const { status, stdout, stderr } = spawnSync('python3', ['examples/humaneval/grade.py'], {
    input: JSON.stringify(document),
    encoding: 'utf8',
    env: { ...process.env, HUMANEVAL_TIME_LIMIT_S: '1' },
  });
  expect([status, stderr]).toEqual([0, '']);
  return JSON.parse(stdout) as Found;
}
