import type { DatasetFormat, DatasetItem, DatasetOptions } from '../../contract/case.ts';
import { type Diagnostic, diagnostic } from '../../contract/problem.ts';
import { pointerValue } from '../../lib/json-pointer.ts';
import { type Line, LineSplitter } from '../../lib/line-splitter.ts';
import { type CaseReader, caseReader } from './case-reader.ts';
import { type CsvColumn, csvColumns, csvMembers, headerMistakes } from './csv-columns.ts';
import { type CsvRecord, CsvRecordCutter, type CsvRecords } from './csv-records.ts';
import { datasetReader, problemItem } from './dataset-reader.ts';
import { fileChunks } from './file-chunks.ts';
import { MAX_ROW_BYTES, rowText } from './json-row.ts';
import type { Row } from './row.ts';

/** CSV (RFC 4180) with a header row, streamed; a cell is text unless its column's name ends in `:json`, empty is absent. */
export const csvFormat: DatasetFormat = {
  name: 'csv',
  extensions: ['.csv', '.csv.gz'],
  read: (options) => {
    const cases = caseReader(options, 'text_cells');
    return datasetReader(options, () => rows(new Reading(options, cases)));
  },
};

async function* rows(reading: Reading): AsyncGenerator<readonly DatasetItem[]> {
  const splitter = new LineSplitter(MAX_ROW_BYTES);
  const cutter = new CsvRecordCutter(MAX_ROW_BYTES);
  for await (const chunk of fileChunks(reading.options)) {
    if (chunk.type === 'problem') return yield [problemItem({ ...chunk.problem, line: splitter.lineNumber })];
    yield reading.items(await cutter.push(reading.checked(splitter.push(chunk.bytes))));
    if (reading.ended) return;
  }
  const last = splitter.end();
  if (last) yield reading.items(await cutter.push(reading.checked([last])));
  if (reading.ended) return;
  yield reading.items(await cutter.end());
  yield reading.rest();
}

const NEWLINE = Buffer.from('\n');

/** The state of one pass over a CSV file. */
class Reading {
  readonly options: DatasetOptions;
  /** True once the rest of the file cannot be read. */
  ended = false;
  private readonly cases: CaseReader;
  private readonly mapped: ReadonlySet<string> | null;
  private columns: readonly CsvColumn[] | null = null;
  /** Problems of lines, in line order, until the records around them were seen. */
  private readonly badLines: { readonly line: number; readonly problem: Diagnostic }[] = [];

  constructor(options: DatasetOptions, cases: CaseReader) {
    this.options = options;
    this.cases = cases;
    const fields = Object.keys(options.fields);
    this.mapped = fields.length > 0 ? new Set(fields) : null;
  }

  /** The bytes for the cutter. A line that is too large becomes an empty one, so that later lines keep their numbers. */
  checked(lines: readonly Line[]): Buffer {
    const bytes = lines.flatMap((line) => {
      const text = rowText({ ...line, file: this.options.shown_path, label: '', line: line.number, column: 1 });
      if (typeof text !== 'string') this.badLines.push({ line: line.number, problem: text });
      return [line.bytes ?? Buffer.alloc(0), NEWLINE];
    });
    return Buffer.concat(bytes);
  }

  items({ records, fault }: CsvRecords): DatasetItem[] {
    const items: DatasetItem[] = [];
    for (const record of records) {
      items.push(...this.badUpTo(record.line - 1));
      const bad = this.badUpTo(record.last_line);
      items.push(...(bad.length > 0 && this.columns ? bad : this.recordItems(record)));
      if (this.ended) return items;
    }
    if (fault) {
      items.push(...this.badUpTo(fault.line), this.problem(fault.line, null, fault.message, fault.hint));
      this.ended = true;
    }
    return items;
  }

  rest(): DatasetItem[] {
    return this.badUpTo(Number.POSITIVE_INFINITY);
  }

  private badUpTo(line: number): DatasetItem[] {
    const items: DatasetItem[] = [];
    while (this.badLines[0] && this.badLines[0].line <= line) items.push(problemItem(this.badLines.shift()!.problem));
    return items;
  }

  private recordItems(record: CsvRecord): readonly DatasetItem[] {
    if (!this.columns) return this.header(record);
    const { cells, line } = record;
    if (cells.length !== this.columns.length) {
      const message = `the row has ${count(cells.length, 'cell')}, but the header names ${count(this.columns.length, 'column')}`;
      return [this.problem(line, null, message, 'quote cells that hold a comma, a quote or a line break')];
    }
    const { value, wrong } = csvMembers(this.columns, cells, this.mapped);
    if (wrong.length === 0) return this.cases.read(csvRow(value, line));
    return wrong.map(({ column, issue }) => {
      const message = `the cell is not strict JSON: at line ${issue.line}, column ${issue.column} of the cell, ${issue.message}`;
      return this.problem(line, column, message, issue.hint);
    });
  }

  private header(record: CsvRecord): readonly DatasetItem[] {
    this.columns = csvColumns(record.cells);
    const mistakes = headerMistakes(this.columns, this.mapped !== null);
    this.ended = mistakes.length > 0;
    return mistakes.map(({ message, hint }) => this.problem(record.line, null, message, hint));
  }

  private problem(line: number, field: string | null, message: string, hint: string): DatasetItem {
    return problemItem(diagnostic(message, { file: this.options.shown_path, line, field, hint }));
  }
}

function csvRow(value: Row['value'], line: number): Row {
  return {
    value,
    issues: [],
    line,
    label: '',
    textAt: (pointer) => {
      const cell = pointerValue(value, pointer);
      return typeof cell === 'string' ? cell : JSON.stringify(cell);
    },
    placeOf: () => ({ line, column: null }),
  };
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}
