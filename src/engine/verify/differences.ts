/** One place where the store is not what its evidence says. */
export interface Difference {
  /** The table, or `artifact`, `plan`, `verdict`. */
  readonly where: string;
  /** The row: `case c7 #1 attempt 2 seq 3`. */
  readonly row: string;
  readonly what: string;
  readonly expected: string | null;
  readonly found: string | null;
}

const MOST = 1000;

/** Differences in the order found, counted to the end and kept up to a bound. */
export class Differences {
  readonly list: Difference[] = [];
  count = 0;
  /** Executions whose content cannot be recomputed because persistence left the envelope out. */
  notRecomputable = 0;

  add(where: string, row: string, what: string, values: { expected?: unknown; found?: unknown } = {}): void {
    this.count += 1;
    if (this.list.length < MOST) this.list.push({ where, row, what, expected: shown(values.expected), found: shown(values.found) });
  }

  /** Adds a difference unless the two are equal. */
  same(where: string, row: string, what: string, expected: unknown, found: unknown): void {
    if (expected !== found) this.add(where, row, what, { expected, found });
  }
}

function shown(value: unknown): string | null {
  if (value === undefined) return null;
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? 'undefined');
  return text.length > 200 ? `${text.slice(0, 199)}…` : text;
}
