import type { DatasetFormat, DatasetItem, DatasetOptions } from '../../contract/case.ts';
import { diagnostic } from '../../contract/problem.ts';
import { type JsonBytes, type JsonPiece, JsonSplitter } from '../../lib/json-splitter.ts';
import { parseStrictJson } from '../../lib/strict-json.ts';
import { type CaseReader, caseReader } from './case-reader.ts';
import { headerProblems } from './dataset-header.ts';
import { datasetReader, type FoundIdentity, fileProblem, problemItem } from './dataset-reader.ts';
import { fileChunks } from './file-chunks.ts';
import { issueProblem, jsonRow, MAX_ROW_BYTES, rowText } from './json-row.ts';

/** JSON: an array of rows, or an object with `cases`, streamed element by element. */
export const jsonFormat: DatasetFormat = {
  name: 'json',
  extensions: ['.json', '.json.gz'],
  read: (options) => {
    const cases = caseReader(options);
    return datasetReader(options, (identity) => rows(options, cases, identity));
  },
};

interface Reading {
  readonly options: DatasetOptions;
  readonly cases: CaseReader;
  readonly identity: FoundIdentity;
  readonly splitter: JsonSplitter;
  /** Members of the top object seen so far. */
  readonly seen: Set<string>;
}

async function* rows(
  options: DatasetOptions,
  cases: CaseReader,
  identity: FoundIdentity,
): AsyncGenerator<readonly DatasetItem[]> {
  const splitter = new JsonSplitter('cases', MAX_ROW_BYTES);
  const reading: Reading = { options, cases, identity, splitter, seen: new Set() };
  for await (const chunk of fileChunks(options)) {
    if (chunk.type === 'problem') return yield [problemItem({ ...chunk.problem, line: splitter.lineNumber })];
    yield splitter.push(chunk.bytes).flatMap((piece) => pieceItems(reading, piece));
    if (splitter.isBroken) return;
  }
  yield splitter.end().flatMap((piece) => pieceItems(reading, piece));
  if (splitter.isBroken || splitter.opened || reading.seen.has('cases')) return;
  yield [fileProblem(options, 'the file has no `cases`', 'write an array of cases, or an object with `cases: […]`')];
}

function pieceItems(reading: Reading, piece: JsonPiece): readonly DatasetItem[] {
  if (piece.type === 'member') return memberItems(reading, piece.key, piece);
  const { options, cases, splitter } = reading;
  const file = options.shown_path;
  if (piece.type === 'broken') {
    const { line, column, message } = piece;
    return [
      problemItem(
        diagnostic(message, { file, line, column, hint: 'repair the JSON here; the rest of the file was not read' }),
      ),
    ];
  }
  const label = `${splitter.enclosed ? 'cases' : ''}[${piece.index}]`;
  const read = jsonRow({ file, label, ...piece }, cases.ignoreNumbersAt);
  if (read.type === 'blank') return [];
  return read.type === 'problems' ? read.problems.map(problemItem) : cases.read(read.row);
}

function memberItems(reading: Reading, keyBytes: JsonBytes, valueBytes: JsonBytes): readonly DatasetItem[] {
  const { options, identity, seen } = reading;
  const file = options.shown_path;
  const key = jsonValue(file, '', keyBytes);
  if (key.type === 'problems') return key.items;
  const name = key.value;
  if (typeof name !== 'string')
    return [problemItem(diagnostic('a member name must be a string', { file, line: keyBytes.line }))];
  const value = jsonValue(file, name, valueBytes);
  if (value.type === 'problems') return value.items;
  const twice = seen.has(name) || (name === 'cases' && reading.splitter.opened);
  seen.add(name);
  const place = { file, line: keyBytes.line, column: keyBytes.column, field: name };
  if (twice) {
    const message = `duplicate key \`${name}\` in the dataset`;
    return [problemItem(diagnostic(message, { ...place, hint: 'remove or rename one of the two' }))];
  }
  return headerProblems(identity, name, value.value, place).map(problemItem);
}

type Parsed = { type: 'value'; value: unknown } | { type: 'problems'; items: readonly DatasetItem[] };

function jsonValue(file: string, label: string, source: JsonBytes): Parsed {
  const text = rowText({ ...source, file, label });
  if (typeof text !== 'string') return { type: 'problems', items: [problemItem(text)] };
  const parsed = parseStrictJson(text, { line: source.line, column: source.column });
  if (parsed.type === 'value' && parsed.issues.length === 0) return { type: 'value', value: parsed.value };
  return { type: 'problems', items: parsed.issues.map((issue) => problemItem(issueProblem(issue, file, label))) };
}
