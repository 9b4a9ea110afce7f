import { execFile } from 'node:child_process';
import { createWriteStream, existsSync, readdirSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { openDataset } from '../../../src/adapters/datasets/index.ts';
import type { DatasetItem } from '../../../src/contract/case.ts';
import { temporaryFolder } from './dataset-fixture.ts';

const FILLER = 'a sentence that makes the row longer than any id. '.repeat(5);
const id = (row: number) => `case-with-a-long-id-${row}`;
const jsonRow = (row: number) => `{"id": "${id(row)}", "input": {"text": "${FILLER}", "n": ${row}}}`;
const csvRow = (row: number) => `${id(row)},"${FILLER}\nsecond line"`;

/** The rows of a file, a thousand at a time. */
function* rowsText(
  rows: number,
  row: (index: number) => string,
  [before, separator, after]: readonly [string, string, string],
): Generator<string> {
  yield before;
  for (let from = 0; from < rows; from += 1000) {
    const some = Array.from({ length: 1000 }, (_, index) => row(from + index));
    yield (from === 0 ? '' : separator) + some.join(separator);
  }
  yield after;
}

/** Reads the file in a process whose heap is smaller than its rows. */
async function readInSmallHeap(path: string): Promise<unknown> {
  const script = join(import.meta.dirname, 'read-counting.ts');
  const { stdout } = await promisify(execFile)(process.execPath, ['--max-old-space-size=40', script, path]);
  return JSON.parse(stdout) as unknown;
}

test.each([
  ['rows.jsonl', 200_000, jsonRow, ['', '\n', '\n']],
  ['rows.json', 100_000, jsonRow, ['{"dataset_id": "big", "cases": [', ',', ']}']],
  ['rows.csv', 100_000, csvRow, ['id,input\n', '\n', '\n']],
] as const)(
  'reads %s of %i rows in a heap smaller than the rows, while their ids are kept',
  async (name, rows, row, around) => {
    const path = join(temporaryFolder(), name);
    await pipeline(Readable.from(rowsText(rows, row, around)), createWriteStream(path));
    expect(await readInSmallHeap(path)).toEqual({
      count: rows,
      distinct: rows,
      last: id(rows - 1),
      problems: [],
      peakMb: expect.toSatisfy((peak: number) => peak < 260, 'a peak under 260 MB'),
    });
  },
);

test.each([
  ['long.jsonl', '{"id": "a", "input": 1}\n{"id": "b", "input": "', '"}\n{"id": "c", "input": 1}\n', 24, 2],
  ['long.json', '[{"id": "a", "input": 1},\n{"id": "b", "input": "', '"},\n{"id": "c", "input": 1}]\n', 24, 2],
  ['long.csv', 'id,input\na,1\nb,', '\nc,1\n', 2, 3],
])(
  'reports the row of 100 MB in %s with its line, does not hold it, and goes on',
  async (name, before, after, extra, line) => {
    const path = join(temporaryFolder(), name);
    const megabyte = Buffer.alloc(1024 * 1024, 'x');
    function* bytes(): Generator<Buffer> {
      yield Buffer.from(before);
      for (let count = 0; count < 100; count += 1) yield megabyte;
      yield Buffer.from(after);
    }
    await pipeline(Readable.from(bytes()), createWriteStream(path));
    const size = 100 * 1024 * 1024 + extra;
    expect(await readInSmallHeap(path)).toEqual({
      count: 2,
      distinct: 2,
      last: 'c',
      problems: [`${line} the row has ${size} bytes; at most 16777216 are read`],
      peakMb: expect.toSatisfy((peak: number) => peak < 200, 'a peak under 200 MB'),
    });
  },
);

/** Files that this process holds open below a folder. */
function openFilesIn(folder: string): string[] {
  return readdirSync('/proc/self/fd').flatMap((fd) => {
    const link = `/proc/self/fd/${fd}`;
    const target = existsSync(link) ? readlinkSync(link) : '';
    return target.startsWith(folder) ? [target] : [];
  });
}

test.runIf(existsSync('/proc/self/fd'))('closes the file when the reader stops early or is aborted', async () => {
  const folder = temporaryFolder();
  const path = join(folder, 'a.jsonl');
  writeFileSync(path, '{"id": "a", "input": 1}\n'.repeat(100_000));
  for await (const item of openDataset({ path, shown_path: path, fields: {}, signal: new AbortController().signal })
    .items) {
    expect(openFilesIn(folder)).toEqual([path]);
    expect(item.type).toBe('case');
    break;
  }
  expect(openFilesIn(folder)).toEqual([]);

  const controller = new AbortController();
  const reason = new Error('stopped by the test');
  const seen: DatasetItem[] = [];
  const reading = (async () => {
    for await (const item of openDataset({ path, shown_path: path, fields: {}, signal: controller.signal }).items) {
      if (seen.push(item) === 1) controller.abort(reason);
    }
  })();
  await expect(reading).rejects.toBe(reason);
  expect(seen.length).toBeLessThan(100_000);
  expect(openFilesIn(folder)).toEqual([]);
});

test('starts nothing when the signal is aborted already', async () => {
  const path = join(temporaryFolder(), 'missing.jsonl');
  const { items } = openDataset({ path, shown_path: path, fields: {}, signal: AbortSignal.abort(new Error('before')) });
  await expect(items[Symbol.asyncIterator]().next()).rejects.toThrow('before');
});
