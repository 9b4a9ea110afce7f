import { init, Parser } from '@guanmingchiu/sqlparser-ts';
import type { SqlDialect, SqlKind, SqlStatement } from '../../contract/sql.ts';
import { StatementWalk } from './walk.ts';
import { sqlWords } from './words.ts';

/** Keywords that change something, with the kinds of statements in which they are expected: elsewhere the parser has read them as a name. */
const EXPECTED: Readonly<Record<string, readonly SqlKind[]>> = {
  into: ['insert', 'merge', 'select_into'],
  insert: ['insert', 'merge'],
  update: ['update', 'merge', 'select_for_update'],
  delete: ['delete', 'merge'],
  set: ['set', 'update', 'merge', 'alter'],
  do: ['update'], // ON CONFLICT DO UPDATE
  truncate: ['truncate'],
  create: ['create'],
  alter: ['alter'],
  drop: ['drop', 'alter'],
  copy: ['copy'],
  call: ['call'],
  merge: ['merge'],
  grant: ['grant'],
  revoke: ['grant'],
  attach: ['attach'],
  detach: ['attach'],
  pragma: ['pragma'],
  ...Object.fromEntries(
    `deallocate dumpfile exec execute handler import kill listen load lock notify outfile prepare procedure reindex rename security
shutdown straight_join unlock vacuum`
      .split(/\s+/)
      .map((word) => [word, []]),
  ),
};

/** A reader of statements, its parser loaded. */
export async function openReader(): Promise<(text: string, dialect: SqlDialect) => readonly SqlStatement[] | null> {
  await init();
  return readStatements;
}

function readStatements(text: string, dialect: SqlDialect): readonly SqlStatement[] | null {
  const split = sqlWords(text, dialect);
  if (split === null || split.statements === 0) return null;
  try {
    const parsed = Parser.parse(text, dialect) as readonly unknown[];
    if (parsed.length !== split.statements) return null;
    const statements = parsed.map((statement) => new StatementWalk(dialect).read(statement));
    const kinds = new Set(statements.flatMap((statement) => statement.kinds));
    const strange = split.words.some(
      (word) =>
        Object.hasOwn(EXPECTED, word) &&
        !kinds.has('other') &&
        !EXPECTED[word]?.some((expected) => kinds.has(expected)),
    );
    return strange ? null : statements;
  } catch (error) {
    // Whatever the parser does not take, also what is too much for it, cannot be told: no rule that allows matches.
    if (error instanceof Error) return null;
    throw error;
  }
}
