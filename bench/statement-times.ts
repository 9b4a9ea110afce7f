import { DatabaseSync, StatementSync } from 'node:sqlite';

/** What one SQL text has cost so far. */
export interface StatementTime {
  readonly sql: string;
  readonly ms: number;
  readonly calls: number;
}

/** Times every statement of this process from now on, for good; the answer reads the times, most expensive first. */
export function timeStatements(): () => StatementTime[] {
  const times = new Map<string, { ms: number; calls: number }>();
  const add = (sql: string, started: number) => {
    const entry = times.get(sql) ?? { ms: 0, calls: 0 };
    times.set(sql, entry);
    entry.ms += performance.now() - started;
    entry.calls += 1;
  };
  const texts = new WeakMap<object, string>();
  for (const verb of ['run', 'get', 'all'] as const) {
    const original = StatementSync.prototype[verb] as (this: StatementSync, ...values: never[]) => unknown;
    Object.defineProperty(StatementSync.prototype, verb, {
      configurable: true,
      value(this: StatementSync, ...values: never[]) {
        const sql = texts.get(this) ?? this.sourceSQL;
        texts.set(this, sql);
        const started = performance.now();
        try {
          return original.apply(this, values);
        } finally {
          add(sql, started);
        }
      },
    });
  }
  const exec = DatabaseSync.prototype.exec;
  DatabaseSync.prototype.exec = function timed(this: DatabaseSync, sql: string) {
    const started = performance.now();
    try {
      exec.call(this, sql);
    } finally {
      add(sql, started);
    }
  };
  return () => [...times].map(([sql, { ms, calls }]) => ({ sql, ms, calls })).sort((left, right) => right.ms - left.ms);
}
