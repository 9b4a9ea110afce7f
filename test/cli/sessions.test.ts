import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import type { ExecutionDocument, RunDocument } from '../../src/contract/documents.ts';
import { proctor, temporaryFolder } from '../support/cli.ts';

const AGENT = `export const answer = ({ case: item, session }) => {
  if (session.history.length !== session.turn - 1) throw new Error('a turn is missing');
  if (item.input === 'what did I say first?') return { text: session.history[0].input, usage: { input_tokens: 10, output_tokens: 1 } };
  return { text: 'you said ' + item.input, tool_calls: [{ name: 'note', arguments: { turn: session.turn } }], usage: { input_tokens: 5, output_tokens: 2 } };
};\n`;

async function write(at: string, cases: readonly object[], evaluators: readonly object[]): Promise<void> {
  await writeFile(path.join(at, 'agent.mjs'), AGENT);
  await writeFile(path.join(at, 'cases.jsonl'), cases.map((item) => `${JSON.stringify(item)}\n`).join(''));
  await writeFile(
    path.join(at, 'profile.json'),
    JSON.stringify({
      profile_id: 'talk',
      agent: { kind: 'module', name: 'talker', version: '1', module: { path: 'agent.mjs', export: 'answer' } },
      dataset: { path: 'cases.jsonl' },
      case_groups: [{ id: 'talks', session: true, evaluators }],
      gate: { all: [{ metric: 'pass_rate', min: 0.5 }] },
    }),
  );
}

const TALK = {
  id: 'memory',
  input: { turns: ['red', 'blue', 'what did I say first?'] },
  expected: { turns: [null, 'you said blue', 'red'] },
};

test('a case of turns is one session: each turn is asked with what was said before, and graded by what it expects', async () => {
  await using folder = await temporaryFolder();
  const at = folder.path;
  const wrong = { ...TALK, id: 'wrong', expected: { turns: ['you said red', null, 'green'] } };
  await write(
    at,
    [TALK, wrong],
    [
      { ref: 'exact_match@1' },
      { ref: 'tool_calls@1', dimension: 'tools', turns: 'whole', config: { exact_order: ['note', 'note'] } },
      { ref: 'contains@1', dimension: 'end', turns: 'last', config: { values: ['red'] } },
    ],
  );
  const checked = await proctor(at, ['check', 'profile.json', '--probe', '--case', 'memory']);
  expect(checked.stdout + checked.stderr).toContain('the agent answers and passes');
  const run = JSON.parse((await proctor(at, ['run', 'profile.json', '--json', '--quiet'])).stdout) as RunDocument;
  expect(run).toMatchObject({
    graded: 2,
    passed: 1,
    scores: { correctness: 0.75, tools: 1, end: 1 },
    spent: { tokens: 2 * 25 },
  });
  const failed = JSON.parse(
    (await proctor(at, ['show', 'last', '--case', 'wrong', '--json'])).stdout,
  ) as ExecutionDocument;
  expect(failed).toMatchObject({ output: { text: 'red' }, turns: expect.any(Array) });
  expect(failed.turns?.length).toBeGreaterThan(1);
  const [match] = failed.evaluator_results;
  expect(match).toMatchObject({ status: 'failed', score: 0.5 });
  expect(match?.reason).toMatch(/^turn 3: /);
  const evidence = match?.evidence as { turns: { turn: number; status: string }[] } | undefined;
  expect(evidence?.turns.map(({ turn, status }) => [turn, status])).toEqual([
    [1, 'passed'],
    [3, 'failed'],
  ]);
  expect((await proctor(at, ['verify', 'last'])).code).toBe(0);
  const again = JSON.parse((await proctor(at, ['regrade', 'last', '--json', '--quiet'])).stdout) as RunDocument;
  expect(again).toMatchObject({ passed: 1, scores: run.scores });
  expect((await proctor(at, ['verify', 'last'])).code).toBe(0);
});

test('a session whose turns and expectations do not fit is refused with its place', async () => {
  await using folder = await temporaryFolder();
  const at = folder.path;
  await write(
    at,
    [
      TALK,
      { id: 'a', input: 'hello' },
      { id: 'b', input: { turns: ['x'] }, expected: { turns: ['x', 'y'] } },
      { id: 'c', input: { turns: [] } },
    ],
    [{ ref: 'exact_match@1' }],
  );
  const refused = await proctor(at, ['run', 'profile.json']);
  expect(refused).toMatchObject({ code: 2 });
  for (const line of ['cases.jsonl:2', 'cases.jsonl:3', 'cases.jsonl:4']) expect(refused.stderr).toContain(line);
  expect(refused.stderr).toContain('an entry for each of the 1 turns');
});
