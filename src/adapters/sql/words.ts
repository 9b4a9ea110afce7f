import type { SqlDialect } from '../../contract/sql.ts';

/** What a text of SQL is made of, as far as every server of its dialect reads it in the same way. */
export interface SqlWords {
  /** Words outside of quotes and comments that may be keywords, in lower case. */
  readonly words: readonly string[];
  /** How many statements there are: pieces between semicolons that are not empty. */
  readonly statements: number;
}

const MOST_LENGTH = 20_000;
/** Beyond so many the parser's stack would not hold what it reads. */
const MOST_TOKENS = 600;

/** What stands for itself: blanks, words, numbers, one sign. Quotes, comments and `;` are looked at first. */
const TOKEN = /[ \t\n]+|[A-Za-z_][A-Za-z0-9_]*|[0-9][A-Za-z0-9_.]*|\$[0-9]+(?![A-Za-z0-9_$])|[^\s]/y;
/** Signs that servers, their versions or their settings read in several ways. */
const REFUSED: Readonly<Record<SqlDialect, RegExp>> = {
  postgresql: /[\\`{}]|[^\x20-\x7e\n]/,
  mysql: /[\\"$#[\]{}]|[^\x20-\x7e\n]/,
  sqlite: /[\\#$[\]{}]|[^\x20-\x7e\n]/,
};

/**
 * Splits a text into words, by the rules that are the same whatever the settings of the server are. Null for a text that servers read in
 * several ways: backslashes, dollar quotes, comments that some run (`/*!`), nest or do not end, and signs outside of ASCII.
 */
export function sqlWords(raw: string, dialect: SqlDialect): SqlWords | null {
  if (raw.length > MOST_LENGTH) return null;
  const text = raw.replaceAll('\r\n', '\n').replaceAll('\t', ' ');
  const words: string[] = [];
  let tokens = 0;
  let statements = 0;
  let empty = true;
  for (let at = 0; at < text.length; ) {
    const part = quotedAt(text, at, dialect) ?? commentAt(text, at, dialect);
    if (part === 'unsure') return null;
    if (part !== null) {
      at = part.end;
      if (!part.comment) empty = false;
    } else {
      TOKEN.lastIndex = at;
      const token = TOKEN.exec(text)?.[0] ?? '';
      if (token === '' || REFUSED[dialect].test(token)) return null;
      at += token.length;
      if (token === ';') {
        if (!empty) statements += 1;
        empty = true;
      } else if (token.trim() !== '') empty = false;
      if (/^[A-Za-z_]/.test(token)) {
        if (/^u$/i.test(token) && text[at] === '&') return null; // escapes of its own
        words.push(token.toLowerCase());
      }
      if (token === ':' && text[at] === '=') return null; // an assignment in the middle of a query
      // A dollar that is no parameter begins a quote.
      if (token === '$') return null;
    }
    tokens += 1;
    if (tokens > 2 * MOST_TOKENS) return null; // every second one is a blank
  }
  return { words, statements: statements + (empty ? 0 : 1) };
}

type Part = { readonly end: number; readonly comment: boolean } | 'unsure' | null;

/** A text or a quoted name: from quote to quote, the quote itself written twice. */
function quotedAt(text: string, at: number, dialect: SqlDialect): Part {
  const quote = text[at] ?? '';
  if (quote !== "'" && (quote !== '"' || dialect === 'mysql') && (quote !== '`' || dialect === 'postgresql'))
    return null;
  let end = at + 1;
  for (;;) {
    end = text.indexOf(quote, end) + 1;
    if (end === 0) return 'unsure';
    if (text[end] !== quote) break;
    end += 1;
  }
  // Inside, letters of every language may stand, but no backslash and no control characters.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what is looked for
  return /[\\\u0000-\u0009\u000b-\u001f\u007f]/.test(text.slice(at, end)) ? 'unsure' : { end, comment: false };
}

function commentAt(text: string, at: number, dialect: SqlDialect): Part {
  if (text.startsWith('--', at)) {
    if (dialect === 'mysql' && !/^(?:[ \n]|$)/.test(text.slice(at + 2, at + 3))) return 'unsure';
    const end = text.indexOf('\n', at);
    const comment = text.slice(at, end < 0 ? text.length : end);
    return /^[\x20-\x7e]*$/.test(comment) ? { end: at + comment.length, comment: true } : 'unsure';
  }
  if (!text.startsWith('/*', at)) return null;
  const end = text.indexOf('*/', at + 2);
  const comment = text.slice(at + 2, end < 0 ? undefined : end);
  if (end < 0 || !/^[\x20-\x7e\n]*$/.test(comment) || /^(?:[!+]|M!)|\/\*/i.test(comment)) return 'unsure';
  return { end: end + 2, comment: true };
}
