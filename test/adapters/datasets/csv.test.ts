import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { aCase, readDataset, told } from './dataset-fixture.ts';

test('reads quoted cells with commas, quotes and line breaks, and counts the lines', async () => {
  const text = '\ufeffid,input,expected,tags\r\na,"one, ""two""\r\nthree",x,"u; v"\r\n\r\nb,4,,\r\nc,"","y",w';
  const read = await readDataset('a.csv', text.replace('c,""', 'c,5'));
  expect(read.problems).toEqual([]);
  expect(read.cases).toEqual([
    aCase({ id: 'a', input: 'one, "two"\r\nthree', expected: 'x', tags: ['u', 'v'] }),
    aCase({ id: 'b', input: '4' }),
    aCase({ id: 'c', input: '5', expected: 'y', tags: ['w'] }),
  ]);
  expect(read.lines).toEqual([2, 5, 6]);
  expect(told((await readDataset('a.csv', text)).problems)).toEqual(['6:- input the case has no `input`']);
});

test('makes objects of KEY columns and values of :json columns', async () => {
  const header =
    'id,task_type,case_group,cluster,input.question,input.top_k:json,expected:json,context.locale,metadata.source,metadata.__proto__';
  const read = await readDataset(
    'a.csv.gz',
    gzipSync(`${header}\n1,t,g,c,why?,3,"{""a"": [1]}",de,web,x\n2,,,,how?,,,,,\n`),
  );
  expect(read.problems).toEqual([]);
  const metadata = JSON.parse('{"source": "web", "__proto__": "x"}') as Record<string, string>;
  expect(read.cases).toEqual([
    {
      id: '1',
      task_type: 't',
      case_group: 'g',
      cluster: 'c',
      input: { question: 'why?', top_k: 3 },
      expected: { a: [1] },
      context: { locale: 'de' },
      tags: [],
      metadata,
    },
    aCase({ id: '2', input: { question: 'how?' } }),
  ]);
});

test('reports a wrong number of cells and bad JSON cells by line, and goes on', async () => {
  const text =
    'id,input:json,expected\na,1,x\nb,1\nc,{,y\nd,1,x,extra\ne,"{""k"": 1, ""k"": 2}",z\nf,12345678901234567890,z\ng,2,z\n';
  const read = await readDataset('a.csv', text);
  expect(told(read.problems)).toEqual([
    '3:- - the row has 2 cells, but the header names 3 columns',
    '4:- input:json the cell is not strict JSON: at line 1, column 2 of the cell, expected a member name in double quotes, but the text ends',
    '5:- - the row has 4 cells, but the header names 3 columns',
    '6:- input:json the cell is not strict JSON: at line 1, column 10 of the cell, duplicate key `k`',
    '7:- input:json the cell is not strict JSON: at line 1, column 1 of the cell, the number `12345678901234567890` would be read as `12345678901234567000`',
  ]);
  expect(read.cases.map(({ id, input }) => [id, input])).toEqual([
    ['a', 1],
    ['g', 2],
  ]);
});

test.each([
  [
    'id,inptu,id,,input,input:json\na,b,c,d,e,1\n',
    [
      'a case has no field for the column `inptu`',
      'duplicate column `id`',
      'a column has no name',
      'the columns `input` and `input:json` both fill `input`',
    ],
  ],
  [
    'question,answer\na,b\n',
    [
      'a case has no field for the column `question`',
      'a case has no field for the column `answer`',
      'there is no column `id`',
      'there is no column `input`',
    ],
  ],
  ['', ['the dataset has no cases']],
  ['id,input\n', ['the dataset has no cases']],
])('says what is wrong with the header %j and reads no rows', async (text, messages) => {
  const read = await readDataset('a.csv', text);
  expect([read.cases, read.problems.map(({ message }) => message)]).toEqual([[], messages]);
});

test.each([
  ['a,x"y"\nb,1\n', '3:- - the record has a `"` inside a cell that is not quoted'],
  ['a,"x"y\nb,1\n', '3:- - the record has text after the closing `"` of a cell'],
  ['a,"x\nb,1\n', '3:- - the record opens a `"` that is never closed'],
])('stops at the wrong quote in %j', async (text, problem) => {
  const read = await readDataset('a.csv', `id,input\n0,"a\n${text}`.replace('0,"a\n', '0,a\n'));
  expect([read.cases.map(({ id }) => id), told(read.problems)]).toEqual([['0'], [problem]]);
});

test('names the line and the byte of invalid UTF-8, drops that record, and goes on', async () => {
  const bytes = Buffer.from('id,input\na,"x\n?\ny"\nb,2\n');
  bytes[14] = 0xc3;
  const read = await readDataset('a.csv', bytes);
  expect(told(read.problems)).toEqual(['3:- - byte 0xc3 at offset 14 of the file is not valid UTF-8']);
  expect([read.cases, read.lines]).toEqual([[aCase({ id: 'b', input: '2' })], [5]]);
});

test('maps columns by pointer, of any name', async () => {
  const text = 'Question?,n,metadata.k,expected\nwhy,1,v,\n,2,,e\n';
  const read = await readDataset('a.csv', text, { id: '/n', input: '/Question?', cluster: '/metadata.k' });
  expect(read.cases).toEqual([aCase({ id: '1', input: 'why', cluster: 'v', metadata: { k: 'v' } })]);
  expect(told(read.problems)).toEqual(['3:- input the case has no `input`']);
  expect(read.problems[0]?.hint).toContain('an empty cell counts as missing');
  const nowhere = await readDataset('a.csv', text, { id: '/N', input: '/Question?' });
  expect(nowhere.problems[0]?.hint).toBe('the row has `Question?`, `n`, `metadata.k`, `metadata`, `expected`');
});
