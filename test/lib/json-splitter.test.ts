import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type JsonPiece, JsonSplitter } from '../../src/lib/json-splitter.ts';

function split(text: string, sizes: readonly number[] = [], limit = 1000): JsonPiece[] {
  const splitter = new JsonSplitter('cases', limit);
  const bytes = Buffer.from(text);
  const pieces: JsonPiece[] = [];
  let from = 0;
  for (const size of [...sizes, bytes.length]) {
    pieces.push(...splitter.push(bytes.subarray(from, from + size)));
    from = Math.min(bytes.length, from + size);
  }
  return [...pieces, ...splitter.end()];
}

const told = (pieces: readonly JsonPiece[]) =>
  pieces.map((piece) =>
    piece.type === 'broken'
      ? `${piece.line}:${piece.column} ${piece.message}`
      : `${piece.line}:${piece.column}@${piece.offset} ${piece.type === 'member' ? `${piece.key.bytes} = ` : ''}${piece.bytes ?? `${piece.size} bytes`}`,
  );

test('cuts a top array into its elements with line, column and offset', () => {
  expect(told(split(' [ {"a": "],{\\""} ,\n  2 , [1,[2]]\n]\n'))).toEqual([
    '1:4@3 {"a": "],{\\""}',
    '2:3@22 2',
    '2:7@26 [1,[2]]',
  ]);
});

test('cuts the named array of a top object and gives the other members whole', () => {
  expect(told(split('{"id": "é😀", "cases": [1, 2], "list": [3], "cases": [4]}'))).toEqual([
    '1:8@7 "id" = "é😀"',
    '1:25@27 1',
    '1:28@30 2',
    '1:40@42 "list" = [3]',
    '1:54@56 "cases" = [4]',
  ]);
});

test('takes empty arrays and objects wherever they stand', () => {
  expect([split('[]'), split('{}'), split('{"cases":[]}'), told(split('{"a":1,"cases":[],"b":{}}'))]).toEqual([
    [],
    [],
    [],
    ['1:6@5 "a" = 1', '1:23@22 "b" = {}'],
  ]);
});

test('gives the same pieces however the bytes are cut', () => {
  const document = fc.record({ before: fc.json(), cases: fc.array(fc.json({ maxDepth: 3 })), after: fc.json() });
  fc.assert(
    fc.property(
      document,
      fc.array(fc.integer({ min: 1, max: 9 }), { maxLength: 60 }),
      ({ before, cases, after }, sizes) => {
        const text = `{"b":${before}, "cases" : [${cases.join(' ,\n')}], "z":${after}}`;
        const pieces = split(text, sizes, 1e6);
        expect(pieces).toEqual(split(text, [], 1e6));
        expect(pieces.flatMap((piece) => (piece.type === 'element' ? [String(piece.bytes)] : []))).toEqual(cases);
      },
    ),
    { numRuns: 400 },
  );
});

test('drops the bytes of an element over the limit, tells its size, and goes on', () => {
  expect(told(split(`[1, "${'x'.repeat(5000)}", 3]`, [10, 10, 100]))).toEqual([
    '1:2@1 1',
    '1:5@4 5002 bytes',
    '1:5009@5008 3',
  ]);
});

test.each([
  ['', '1:1 the file is empty'],
  ['  \n ', '2:2 the file is empty'],
  ['nonsense', '1:1 expected `[` or `{` at the start of the file'],
  ['[1,,2]', '1:4 expected a value before this'],
  ['[1,]', '1:4 expected a value before this'],
  ['[1}', '1:3 expected `,` or `]` after an element, but found `}`'],
  ['[1] x', '1:5 expected the end of the file'],
  ['[1', '1:3 the file ends inside the value that starts in line 1 before `]`'],
  ['{"a" 1}', '1:7 expected a member name in double quotes and `:`'],
  ['{"a":1,}', '1:8 expected a member name in double quotes and `:`'],
  ['{"a":}', '1:6 expected one value after `:`, and `,` or `}` after the value'],
  ['{"cases":[1] 2}', '1:15 expected one value after `:`, and `,` or `}` after the value'],
  ['{"a":1]', '1:7 expected `,` or `}` after a member, but found `]`'],
  ['{"cases":[1]', '1:13 the file ends before `}`'],
])('says where %j breaks', (text, message) => {
  expect(told(split(text)).at(-1)).toBe(message);
});
