import { finished } from 'node:stream/promises';
import { CsvError, type Parser, parse } from 'csv-parse';

/** One record of a CSV file with the lines it spans. */
export interface CsvRecord {
  readonly cells: readonly string[];
  readonly line: number;
  readonly last_line: number;
}

/** Records cut so far, and the fault that ended the cutting. */
export interface CsvRecords {
  readonly records: readonly CsvRecord[];
  readonly fault: CsvFault | null;
}

/** Why the records end early. */
export interface CsvFault {
  readonly line: number;
  readonly message: string;
  readonly hint: string;
}

/**
 * Cuts bytes into CSV records. Lines are counted here: csv-parse counts a CRLF inside quotes twice. A fault ends the
 * cutting, because after a wrong quote nobody knows where the next record starts.
 */
export class CsvRecordCutter {
  private readonly parser: Parser;
  private records: CsvRecord[] = [];
  private nextLine = 1;
  private emptyLines = 0;

  constructor(maxBytes: number) {
    this.parser = parse({
      max_record_size: maxBytes,
      record_delimiter: ['\r\n', '\n'],
      relax_column_count: true,
      skip_empty_lines: true,
      on_record: (cells: string[], info) => {
        this.take(cells, info.empty_lines);
        return null;
      },
    });
    this.parser.on('error', () => undefined); // the same error rejects the write or the end below
    this.parser.resume();
  }

  /** The records that end in these bytes, and the fault that ended the cutting. */
  async push(bytes: Buffer): Promise<CsvRecords> {
    return this.outcome(
      new Promise<void>((resolve, reject) => {
        this.parser.write(bytes, (error) => (error ? reject(error) : resolve()));
      }),
    );
  }

  /** The records that the end of the file completes. */
  async end(): Promise<CsvRecords> {
    this.parser.end();
    return this.outcome(finished(this.parser));
  }

  private async outcome(done: Promise<void>): Promise<CsvRecords> {
    let fault: CsvFault | null = null;
    try {
      await done;
    } catch (error) {
      if (!(error instanceof CsvError)) throw error;
      const line = this.nextLine + this.parser.info.empty_lines - this.emptyLines;
      fault = { line, ...(FAULTS[error.code] ?? { message: error.message, hint: 'repair the record' }) };
    }
    const { records } = this;
    this.records = [];
    return { records, fault };
  }

  private take(cells: readonly string[], emptyLines: number): void {
    const line = this.nextLine + emptyLines - this.emptyLines;
    const last_line = line + cells.reduce((count, cell) => count + newlines(cell), 0);
    this.emptyLines = emptyLines;
    this.nextLine = last_line + 1;
    this.records.push({ cells, line, last_line });
  }
}

const FAULTS: Readonly<Record<string, Omit<CsvFault, 'line'>>> = {
  INVALID_OPENING_QUOTE: {
    message: 'the record has a `"` inside a cell that is not quoted',
    hint: 'quote the whole cell and double the quotes inside it; the rest of the file was not read',
  },
  CSV_INVALID_CLOSING_QUOTE: {
    message: 'the record has text after the closing `"` of a cell',
    hint: 'double a `"` that belongs to the cell; the rest of the file was not read',
  },
  CSV_QUOTE_NOT_CLOSED: {
    message: 'the record opens a `"` that is never closed',
    hint: 'close the quote, or double a `"` that belongs to the cell',
  },
  CSV_MAX_RECORD_SIZE: {
    message: 'the record is larger than 16 MiB',
    hint: 'a `"` is probably not closed; the rest of the file was not read',
  },
};

function newlines(cell: string): number {
  let count = 0;
  for (let at = cell.indexOf('\n'); at !== -1; at = cell.indexOf('\n', at + 1)) count += 1;
  return count;
}
