import type { SqlDialect, SqlStatement } from '../../contract/sql.ts';

let read: ((text: string, dialect: SqlDialect) => readonly SqlStatement[] | null) | null = null;

/** Loads the parser; only policies that look at statements need it. */
export async function loadSql(): Promise<void> {
  if (read !== null) return;
  const { openReader } = await import('./read.ts');
  read = await openReader();
}

/** The statements of a text; null when it cannot be read without doubt, or before the parser is loaded. */
export function readSql(text: string, dialect: SqlDialect): readonly SqlStatement[] | null {
  return read === null ? null : read(text, dialect);
}
