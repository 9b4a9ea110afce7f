import { expect, test } from 'vitest';
import { readFile, told } from '../adapters/datasets/dataset-fixture.ts';
import { realData } from '../support/real-data.ts';

test('reads all of HumanEval with mapped fields', async () => {
  const path = realData('humaneval/HumanEval.jsonl.gz');
  const read = await readFile(path, { id: '/task_id', input: '/prompt', expected: '/test' });
  expect([read.problems, read.cases.length, read.cases[0]?.id, read.identity.dataset_id]).toEqual([
    [],
    164,
    'HumanEval/0',
    'HumanEval',
  ]);
  expect(read.cases[0]?.expected).toContain('def check(candidate):');
});

test('reads MBPP+ whose Mbpp/404 holds bare Infinity: ignored, refused, or verbatim, as mapped', async () => {
  const path = realData('mbpp-plus/MbppPlus.jsonl.gz');
  const fields = { id: '/task_id', input: '/prompt', expected: '/assertion' };
  const ignored = await readFile(path, fields);
  expect([ignored.problems, ignored.cases.length]).toEqual([[], 378]);

  const refused = await readFile(path, { ...fields, context: '/plus_input' }, 'MbppPlus.jsonl.gz');
  expect(told(refused.problems).filter((text) => text.startsWith('175:'))[0]).toMatch(
    /^175:\d+ plus_input\[\d+\]\[0\] `-Infinity` is not a JSON number$/,
  );
  expect(refused.cases.some(({ id }) => id === 'Mbpp/404')).toBe(false);

  const kept = await readFile(path, { ...fields, context: 'text:/plus_input' });
  expect([kept.problems, kept.cases.length]).toEqual([[], 378]);
  expect(kept.cases.find(({ id }) => id === 'Mbpp/404')?.context).toContain('[-Infinity, Infinity]');
});

test('reads all of HumanEval+ with its inputs verbatim', async () => {
  const path = realData('humaneval-plus/HumanEvalPlus.jsonl.gz');
  const read = await readFile(path, {
    id: '/task_id',
    input: '/prompt',
    expected: '/test',
    context: 'text:/plus_input',
  });
  expect([read.problems, read.cases.length]).toEqual([[], 164]);
});
