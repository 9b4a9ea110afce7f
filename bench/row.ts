/** One figure of a row: what was measured against its bar, and what stands beside it from the same run. */
export interface Figure {
  readonly figure: string;
  readonly bar: string;
  readonly measured: string;
  /** The peer or raw limit that was measured in the same run, or ''. */
  readonly beside: string;
  /** Null: printed only, without a bar. */
  readonly met: boolean | null;
}

/** What a row of DESIGN §9 came to: its figures for the table, and every number for the JSON file. */
export interface RowResult {
  readonly figures: readonly Figure[];
  readonly details: Readonly<Record<string, unknown>>;
}

/** What every row gets. */
export interface RowContext {
  /** An empty folder of its own, removed afterwards. */
  readonly folder: string;
  /** Smaller sizes, for a look; the figures say so. */
  readonly quick: boolean;
  readonly note: (text: string) => void;
}

/** A row of the benchmark: its name on the command line and how to measure it. */
export interface Row {
  readonly name: string;
  readonly title: string;
  measure(context: RowContext): Promise<RowResult>;
}

/** A figure that is printed beside the bars and has none itself. */
export function told(figure: string, measured: string, beside = ''): Figure {
  return { figure, bar: '', measured, beside, met: null };
}

/** The middle value; of an even number the mean of the two in the middle. Throws on none. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((left, right) => left - right);
  const middle = sorted.length / 2;
  const upper = sorted[Math.floor(middle)];
  const lower = sorted[Math.ceil(middle) - 1];
  if (upper === undefined || lower === undefined) throw new RangeError('no values have no median');
  return (lower + upper) / 2;
}

/** The smallest value that at least `share` of the values do not exceed. Throws on none. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((left, right) => left - right);
  const found = sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)];
  if (found === undefined) throw new RangeError('no values have no percentile');
  return found;
}

/** A number for a person: whole with separators from 100 on, else three significant digits. */
export function shown(value: number): string {
  return Math.abs(value) >= 100 ? Math.round(value).toLocaleString('en-US') : String(Number(value.toPrecision(3)));
}

/** A share in percent. */
export function percent(share: number): string {
  return `${shown(share * 100)} %`;
}

/** Bytes in MB of 1,000,000. */
export function megabytes(bytes: number): string {
  return `${shown(bytes / 1e6)} MB`;
}
