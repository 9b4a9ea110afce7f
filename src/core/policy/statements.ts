import type { SqlMatcher } from '../../contract/matcher.ts';
import type { SqlStatement } from '../../contract/sql.ts';
import { compileGlobs } from '../../lib/glob.ts';
import type { CallFacts } from './facts.ts';
import { alike, every, type Truth, truth } from './truth.ts';

/**
 * Statements of SQL: what holds for every one of them, or for none. A text that cannot be read without doubt cannot be told, nor can a
 * statement that does several things of which only some match, or that calls a function of which nobody said what it does.
 */
export function sqlTest(wanted: SqlMatcher): (value: unknown, call: CallFacts) => Truth {
  const test = statementTest(wanted);
  return (value, call) => {
    const statements = typeof value === 'string' ? call.sql(value, wanted.dialect) : null;
    return statements === null ? 'unknown' : alike(statements, test);
  };
}

function statementTest({ statements, reads, writes, functions = [] }: SqlMatcher): (statement: SqlStatement) => Truth {
  const tests: ((statement: SqlStatement) => Truth)[] = [];
  if (statements !== undefined) tests.push(({ kinds }) => alike(kinds, (kind) => truth(statements.includes(kind))));
  if (reads !== undefined) {
    const test = nameTest(reads);
    tests.push((statement) => namesIn(statement.reads, test));
  }
  if (writes !== undefined) {
    const test = nameTest(writes);
    tests.push((statement) => namesIn(statement.writes, test));
  }
  const known = nameTest(functions);
  tests.push((statement) => (statement.functions.every((name) => known(name) === 'holds') ? 'holds' : 'unknown'));
  return (statement) => every(tests, (test) => test(statement));
}

/** Where nothing is read (or written), nothing of it matches. */
function namesIn(names: readonly string[], test: (name: string) => Truth): Truth {
  return names.length === 0 ? 'fails' : alike(names, test);
}

/**
 * Whether a name is one of these. A name with more parts than the glob (`public.orders` and `orders`), or with fewer, or in other
 * letters, may be the same table or another: that cannot be told.
 */
function nameTest(globs: readonly string[]): (name: string) => Truth {
  const exact = compileGlobs(globs);
  const loose = globs.map((glob) => {
    const parts = glob.toLowerCase().split('.');
    return parts.map((_, at) => compileGlobs([parts.slice(-at - 1).join('.')])); // by how many parts from the end
  });
  return (name) => {
    if (exact(name)) return 'holds';
    const parts = name.toLowerCase().split('.');
    const alike = loose.some((tails) => {
      const shared = Math.min(tails.length, parts.length);
      return tails[shared - 1]?.(parts.slice(-shared).join('.'));
    });
    return alike ? 'unknown' : 'fails';
  };
}
