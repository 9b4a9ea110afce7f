import type { DatasetFormat, DatasetItem, DatasetOptions } from '../../contract/case.ts';
import { type Line, LineSplitter } from '../../lib/line-splitter.ts';
import { type CaseReader, caseReader } from './case-reader.ts';
import { datasetReader, problemItem } from './dataset-reader.ts';
import { fileChunks } from './file-chunks.ts';
import { jsonRow, MAX_ROW_BYTES } from './json-row.ts';

/** JSON lines: one row a line, streamed; empty lines are skipped, and a bad line does not keep the next from being read. */
export const jsonlFormat: DatasetFormat = {
  name: 'jsonl',
  extensions: ['.jsonl', '.ndjson', '.jsonl.gz', '.ndjson.gz'],
  read: (options) => {
    const cases = caseReader(options);
    return datasetReader(options, () => rows(options, cases));
  },
};

async function* rows(options: DatasetOptions, cases: CaseReader): AsyncGenerator<readonly DatasetItem[]> {
  const splitter = new LineSplitter(MAX_ROW_BYTES, { skip_empty: true });
  for await (const chunk of fileChunks(options)) {
    if (chunk.type === 'problem') return yield [problemItem({ ...chunk.problem, line: splitter.lineNumber })];
    yield splitter.push(chunk.bytes).flatMap((line) => lineItems(options, cases, line));
  }
  const last = splitter.end();
  if (last) yield lineItems(options, cases, last);
}

function lineItems(options: DatasetOptions, cases: CaseReader, line: Line): readonly DatasetItem[] {
  const { number, offset, size, bytes } = line;
  const source = { file: options.shown_path, label: '', line: number, column: 1, offset, size, bytes };
  const read = jsonRow(source, cases.ignoreNumbersAt);
  if (read.type === 'blank') return [];
  return read.type === 'problems' ? read.problems.map(problemItem) : cases.read(read.row);
}
