import { type ErrorCode, ProctorError } from '../../contract/problem.ts';

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
/** So many differences end the check: that the run differs is certain, and whoever made it so should not decide how long it takes. */
const ENOUGH = 10_000;
const TROUBLE: readonly ErrorCode[] = ['store_busy', 'store_failed', 'store_full', 'store_lost'];

/** Differences in the order found, counted up to a bound and kept up to a lower one. */
export class Differences {
  readonly list: Difference[] = [];
  count = 0;
  /** Executions of which something that was graded or found is not there: their scores are checked, the rest is taken as recorded. */
  notRecomputable = 0;
  /** What is not there, and of how many executions. */
  readonly leftOut = { output: 0, evaluator_evidence: 0, secrets: 0 };

  /** Counts an execution of which something is not there; nothing is no execution. */
  cannotRecompute(missing: readonly (keyof Differences['leftOut'])[]): void {
    if (missing.length > 0) this.notRecomputable += 1;
    for (const what of missing) this.leftOut[what] += 1;
  }

  /** True once no more are counted. */
  get enough(): boolean {
    return this.count >= ENOUGH;
  }

  add(where: string, row: string, what: string, values: { expected?: unknown; found?: unknown } = {}): void {
    if (this.enough) return;
    this.count += 1;
    if (this.list.length >= MOST) return;
    this.list.push({ where, row, what, expected: shown(values.expected), found: shown(values.found) });
  }

  /** Adds a difference unless the two are equal. */
  same(where: string, row: string, what: string, expected: unknown, found: unknown): void {
    if (expected !== found) this.add(where, row, what, { expected, found });
  }

  /** Does a step of the check; null when what it reads cannot be read or recomputed, which is itself a difference. */
  async step<T>(where: string, row: string, work: () => T | Promise<T>): Promise<T | null> {
    try {
      return await work();
    } catch (error) {
      this.fault(where, row, error);
      return null;
    }
  }

  /** Adds what was thrown over stored data; a disk or lock that fails says nothing about the data and is thrown on. */
  fault(where: string, row: string, error: unknown): void {
    if (ProctorError.is(error) && TROUBLE.includes(error.code)) throw error;
    const message = error instanceof Error ? error.message : String(error);
    this.add(where, row, ProctorError.is(error) ? message : `cannot be read: ${message}`);
  }
}

function shown(value: unknown): string | null {
  if (value === undefined) return null;
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? 'undefined');
  return text.length > 200 ? `${text.slice(0, 199)}…` : text;
}
