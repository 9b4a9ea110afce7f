import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { aCase, readDataset, told } from './dataset-fixture.ts';

test('reads each line as a case, with its line, past empty lines, CRLF, a byte order mark and a missing last newline', async () => {
  const read = await readDataset(
    'support.jsonl',
    '\ufeff{"id": "a", "input": 1}\r\n\r\n  \n{"id": 7, "task_type": "t", "case_group": "g", "input": {"q": null}, "expected": ["x"], "context": {"k": 1}, "tags": ["u"], "metadata": {"__proto__": 1}, "cluster": "c"}',
  );
  const metadata = JSON.parse('{"__proto__": 1}') as Record<string, never>;
  expect(read).toEqual({
    cases: [
      aCase({ id: 'a', input: 1 }),
      {
        id: '7',
        task_type: 't',
        case_group: 'g',
        input: { q: null },
        expected: ['x'],
        context: { k: 1 },
        tags: ['u'],
        metadata,
        cluster: 'c',
      },
    ],
    lines: [1, 4],
    problems: [],
    identity: { dataset_id: 'support', dataset_version: null },
  });
  expect(Object.keys(read.cases[1]?.metadata ?? {})).toEqual(['__proto__']);
});

test('reports each bad line and goes on with the next', async () => {
  const lines = [
    '{"id": "a", "input": 1}',
    '{"id": "b", "input": 1',
    '[1]',
    '{"id": "c", "inputs": 1}',
    '{"id": "d", "input": {"x": 1, "x": 2}}',
    '{"id": "e", "input": "\\ud800"}',
    '{"id": "f", "input": [Infinity]}',
    '{"id": "g", "input": 12345678901234567890}',
    '{"id": "h", "input": 1, "tags": "x", "metadata": []}',
    '{"id": "h", "input": 1, "tags": ["x", 3], "task_type": ""}',
    '{"input": 1}',
    '{"id": "", "input": 1}',
    '{"id": "z", "input": 1}',
  ];
  const read = await readDataset('a.jsonl', lines.join('\n'));
  expect(read.cases.map(({ id }) => id)).toEqual(['a', 'z']);
  expect(told(read.problems)).toEqual([
    '2:23 input expected `,` or `}` after a member, but the text ends',
    '3:- - a row must be an object, but this is an array',
    '4:23 inputs a case has no field `inputs`',
    '5:31 input.x duplicate key `x`',
    '6:22 input the text `\ufffd` holds a lone surrogate',
    '7:23 input[0] `Infinity` is not a JSON number',
    '8:22 input the number `12345678901234567890` would be read as `12345678901234567000`',
    '9:33 tags `tags` is not valid: expected array, received string',
    '9:50 metadata `metadata` is not valid: it must be an object, but this is an array',
    '10:56 task_type `task_type` is not valid: Too small: expected string to have >=1 characters',
    '10:39 tags[1] `tags[1]` is not valid: expected string, received number',
    '11:- id the case has no `id`',
    '12:8 id `id` is not valid: Too small: expected string to have >=1 characters',
    '12:8 id `id` is not valid: must not hold control characters',
  ]);
  expect(read.problems[2]?.hint).toContain('did you mean `input`?');
  expect(read.problems[6]?.hint).toBe(
    'write the number as a string, or map `input: text:/input` to keep its JSON text',
  );
  expect(read.problems.every(({ file, hint }) => file === 'a.jsonl' && hint !== null)).toBe(true);
});

test('names the line and the byte of invalid UTF-8 and goes on', async () => {
  const good = '{"id": "a", "input": "é"}\n';
  const bad = Buffer.concat([
    Buffer.from(good),
    Buffer.from('{"id": "b", "input": "é'),
    Buffer.from([0xe2, 0x82]),
    Buffer.from('"}\n'),
    Buffer.from(good),
  ]);
  const read = await readDataset('a.jsonl', bad);
  expect(read.lines).toEqual([1, 3]);
  expect(told(read.problems)).toEqual(['2:- - byte 0xe2 at offset 51 of the file is not valid UTF-8']);
  expect(bad[51]).toBe(0xe2);
});

test('reads gzip, and names a file that is cut off or damaged after the cases that it still gave', async () => {
  const rows = Array.from(
    { length: 20_000 },
    (_, i) => `{"id": "c${i}", "input": "${Math.imul(i, 2654435761)}"}\n`,
  ).join('');
  const packed = gzipSync(rows);
  expect((await readDataset('a.jsonl.gz', packed)).cases).toHaveLength(20_000);
  const cut = await readDataset('a.ndjson.gz', packed.subarray(0, packed.length >> 1));
  expect(cut.cases.length).toBeGreaterThan(1000);
  expect(cut.cases.length).toBeLessThan(20_000);
  expect(told(cut.problems)).toEqual([`${cut.cases.length + 1}:- - the gzip data is cut off: unexpected end of file`]);
  const notPacked = await readDataset('a.jsonl.gz', rows);
  expect(told(notPacked.problems)).toEqual(['1:- - the gzip data is damaged (Z_DATA_ERROR): incorrect header check']);
  expect(notPacked.problems[0]?.hint).toContain('gzip -t');
});

test('maps fields by pointer, falls back to members of the same name, and ignores the others', async () => {
  const row = {
    task: { id: 12 },
    question: 'q',
    expected: 'e',
    tags: 'a, b;c',
    group: 3,
    huge: 1,
    meta: { k: 1 },
    task_type: null,
  };
  const line = JSON.stringify(row).replace('"huge":1', '"huge":[12345678901234567890, -Infinity]');
  const fields = { id: '/task/id', input: '/question', cluster: '/group', metadata: '/meta', context: '' };
  const { context: _, ...mapped } = fields;
  const read = await readDataset('a.jsonl', line, mapped);
  expect(read.problems).toEqual([]);
  expect(read.cases).toEqual([
    aCase({ id: '12', input: 'q', expected: 'e', tags: ['a', 'b', 'c'], cluster: '3', metadata: { k: 1 } }),
  ]);
  const whole = await readDataset('a.jsonl', line, fields);
  expect(whole.problems.map(({ column, field }) => [column, field])).toEqual([
    [line.indexOf('1234567') + 1, 'huge[0]'],
    [line.indexOf('-Infinity') + 1, 'huge[1]'],
  ]);
});

test('refuses an inexact number only where it is mapped, and keeps it verbatim as text', async () => {
  const line = '{"id": "a", "input": "i", "tests": [[-Infinity], 12345678901234567890, 1.50]}';
  const fields = { id: '/id', input: '/input' };
  expect((await readDataset('a.jsonl', line, fields)).cases).toEqual([aCase({ id: 'a', input: 'i' })]);
  const refused = await readDataset('a.jsonl', line, { ...fields, expected: '/tests' });
  expect(told(refused.problems)).toEqual([
    '1:38 tests[0][0] `-Infinity` is not a JSON number',
    '1:50 tests[1] the number `12345678901234567890` would be read as `12345678901234567000`',
  ]);
  expect(refused.problems[0]?.hint).toBe(
    'write the number as a string, or map `expected: text:/tests` to keep its JSON text',
  );
  const kept = await readDataset('a.jsonl', line, { ...fields, expected: 'text:/tests' });
  expect(kept).toMatchObject({
    problems: [],
    cases: [aCase({ id: 'a', input: 'i', expected: '[[-Infinity], 12345678901234567890, 1.50]' })],
  });
  const id = await readDataset('a.jsonl', '{"n": 12345678901234567890, "input": 1}', { id: 'text:/n' });
  expect(id.cases.map((one) => one.id)).toEqual(['12345678901234567890']);
});

test('says which members a row has when a pointer leads nowhere or a needed field is not mapped', async () => {
  const read = await readDataset('a.jsonl', '{"task_id": "a", "prompt": "p"}\n', { input: '/promt', tags: '/labels' });
  expect(told(read.problems)).toEqual([
    '1:- input `input` is mapped to `/promt`, which leads nowhere in this row',
    '1:- tags `tags` is mapped to `/labels`, which leads nowhere in this row',
  ]);
  expect(read.problems[0]?.hint).toBe('the row has `task_id`, `prompt`');
  const unmapped = await readDataset('a.jsonl', '{"task_id": "a", "prompt": "p"}\n', { expected: '/prompt' });
  expect(told(unmapped.problems)).toEqual(['1:- id the case has no `id`', '1:- input the case has no `input`']);
  expect(unmapped.problems[1]?.hint).toBe(
    'map `input` (`fields: { input: /member }`); the row has `task_id`, `prompt`',
  );
});

test('refuses a row nested 100,000 deep without losing the next', async () => {
  const deep = `{"id": "a", "input": ${'['.repeat(1e5)}${']'.repeat(1e5)}}`;
  const read = await readDataset('a.jsonl', `${deep}\n{"id": "b", "input": 1}\n`);
  expect(read.problems.map(({ line, message }) => [line, message])).toEqual([
    [1, 'the value is nested deeper than 200 levels'],
  ]);
  expect(read.lines).toEqual([2]);
});

test('says that an empty file has no cases', async () => {
  for (const content of ['', '\n\n', '\ufeff']) {
    expect(told((await readDataset('a.jsonl', content)).problems)).toEqual(['-:- - the dataset has no cases']);
  }
});
