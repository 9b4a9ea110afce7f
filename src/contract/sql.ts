/** The dialects whose statements policies can look at; `mysql` is MariaDB's too. */
export const SQL_DIALECTS = ['postgresql', 'mysql', 'sqlite'] as const;
export type SqlDialect = (typeof SQL_DIALECTS)[number];

/** What a statement does. One may do several things: a query whose CTE deletes is `select` and `delete`. */
export const SQL_KINDS = [
  'select',
  'select_into',
  'select_for_update',
  'explain',
  'show',
  'insert',
  'update',
  'delete',
  'merge',
  'truncate',
  'create',
  'alter',
  'drop',
  'copy',
  'call',
  'set',
  'pragma',
  'attach',
  'transaction',
  'grant',
  'other',
] as const;
export type SqlKind = (typeof SQL_KINDS)[number];

/** One statement as a parser read it. Names are written with dots, as the statement has them. */
export interface SqlStatement {
  readonly kinds: readonly SqlKind[];
  /** Tables and views that are read. */
  readonly reads: readonly string[];
  /** Tables that are written, defined or dropped. */
  readonly writes: readonly string[];
  /** Functions that are called, but for those known to do nothing but compute. */
  readonly functions: readonly string[];
}
