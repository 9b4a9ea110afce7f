import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { aCase, readDataset, told } from './dataset-fixture.ts';

test('streams an array of cases, with the line of each', async () => {
  const read = await readDataset(
    'array.json',
    '\ufeff[\r\n {"id": "a", "input": "[,]"},\n\n {"id": "b",\n "input": 2}]\n',
  );
  expect(read).toEqual({
    cases: [aCase({ id: 'a', input: '[,]' }), aCase({ id: 'b', input: 2 })],
    lines: [2, 4],
    problems: [],
    identity: { dataset_id: 'array', dataset_version: null },
  });
});

test('takes the identity of a dataset before or after its cases', async () => {
  const text =
    '{"dataset_id": "d", "cases": [{"id": "a", "input": 1}], "dataset_version": "2", "description": "about"}';
  const read = await readDataset('a.json.gz', gzipSync(text));
  expect([read.problems, read.cases, read.identity]).toEqual([
    [],
    [aCase({ id: 'a', input: 1 })],
    { dataset_id: 'd', dataset_version: '2' },
  ]);
});

test('reports what is wrong in a case by index, line and column, and goes on', async () => {
  const text = `{
  "dataset_name": "x",
  "dataset_version": 3,
  "cases": [
    {"id": "a", "input": 1, "tags": [1]},
    {"id": "b" "input": 1},
    {"id": "c", "input": {"k": 1, "k": 2}},
    {"id": "d", "input": "\ud83d\ude00", "tag": []}, 7,
    {"id": "e", "input": 1}
  ],
  "description": "one", "description": "two"
}`;
  const read = await readDataset('a.json', text);
  expect(told(read.problems)).toEqual([
    '2:3 dataset_name a dataset has no field `dataset_name`',
    '3:3 dataset_version `dataset_version` is not valid: expected string, received number',
    '5:38 cases[0].tags[0] `tags[0]` is not valid: expected string, received number',
    '6:16 cases[1].id expected `,` or `}` after a member, but found `"`',
    '7:35 cases[2].input.k duplicate key `k`',
    '8:39 cases[3].tag a case has no field `tag`',
    '8:- cases[4] a row must be an object, but this is a number',
    '11:25 description duplicate key `description` in the dataset',
  ]);
  expect(read.lines).toEqual([9]);
});

test.each([
  ['', ['1:1 - the file is empty']],
  ['{}', ['-:- - the file has no `cases`']],
  ['[]', ['-:- - the dataset has no cases']],
  ['{"cases": {"a": 1}}', ['1:2 cases `cases` must be a list of cases']],
  ['{"cases": [{"id": "a", "input": 1}], "cases": []}', ['1:38 cases duplicate key `cases` in the dataset']],
  ['[{"id": "a", "input": 1},]', ['1:26 - expected a value before this']],
  ['[{"id": "a", "input": 1}', ['1:25 - the file ends inside the value that starts in line 1 before `]`']],
  ['[{"id": "a", "input": 1}] [', ['1:27 - expected the end of the file']],
  ['hello', ['1:1 - expected `[` or `{` at the start of the file']],
])('says what is wrong with the file %j', async (content, problems) => {
  expect(told((await readDataset('a.json', content)).problems)).toEqual(problems);
});

test('names the element and the byte of invalid UTF-8 and goes on', async () => {
  const bytes = Buffer.from('[{"id": "a", "input": "?"},\n{"id": "b", "input": 1}]');
  bytes[23] = 0xff;
  const read = await readDataset('a.json', bytes);
  expect(told(read.problems)).toEqual(['1:- [0] byte 0xff at offset 23 of the file is not valid UTF-8']);
  expect(read.lines).toEqual([2]);
});

test('keeps the text of a mapped member verbatim', async () => {
  const read = await readDataset('a.json', '[{"n": 1, "in": {"a":  1.0}}]', { id: '/n', input: 'text:/in' });
  expect(read.cases).toEqual([aCase({ id: '1', input: '{"a":  1.0}' })]);
});
