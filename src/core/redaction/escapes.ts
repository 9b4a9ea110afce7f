import { setOf } from './characters.ts';
import { entity } from './html-entities.ts';
import { type View, ViewMaker } from './view.ts';

/**
 * One escape of JSON and of programming languages (`\"`, `\u00e4`, `\u{1f511}`, `\xe4`, `\303`), of URLs (`%C3%A4`, `%u00e4`), of HTML
 * (`&#228;`, `&#xe4;`, `&auml;`), or what only breaks a text into lines or shows nothing: line breaks with the indentation behind them,
 * a backslash before them, NUL (texts in UTF-16), the soft hyphen and characters without width.
 */
const ESCAPE =
  /\\u\{([0-9a-f]{1,6})\}|\\u([0-9a-f]{4})|\\x([0-9a-f]{2})|\\([0-7]{3})|\\(["'\\/bfnrtv])|%u([0-9a-f]{4})|%([0-9a-f]{2})|&#([0-9]{1,7});|&#x([0-9a-f]{1,6});|&([a-z][a-z0-9]{1,14});|\\?\r?\n[ \t]*|\\?\r|[\0\u00ad\u200b-\u200d\u2060\ufeff]/iy;
const ESCAPE_BEGINS = setOf('\\%&\r\n\0\u00ad\u200b\u200c\u200d\u2060\ufeff');

/** What may stand for a space: spaces of all kinds, and the plus sign of URLs. */
const SPACE = /[\s+]+/y;
const SPACE_BEGINS = setOf(
  '\t\n\v\f\r +\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\ufeff',
);

const MOST_CODE_POINT = 0x10_ffff;
const CONTROLS: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' };

/** The view with one layer of escapes taken away; null when there is none. Bytes stand as characters of Latin 1, one each. */
export function withoutEscapes(source: View): View | null {
  return replaced(source, ESCAPE_BEGINS, ESCAPE, meaning);
}

/** The view without spaces, and without the plus signs that stand for them in a URL; null when it has none. */
export function withoutSpaces(source: View): View | null {
  return replaced(source, SPACE_BEGINS, SPACE, () => '');
}

/** The view with every match of a sticky pattern replaced; the pattern is only tried where one of its first characters stands. */
function replaced(
  source: View,
  begins: Uint8Array,
  pattern: RegExp,
  meaningOf: (match: RegExpExecArray) => string | null,
): View | null {
  const { text } = source;
  const maker = new ViewMaker(source);
  let read = 0;
  for (let index = 0; index < text.length; index += 1) {
    if (begins[text.charCodeAt(index)] === 0) continue;
    pattern.lastIndex = index;
    const match = pattern.exec(text);
    const meant = match === null ? null : meaningOf(match);
    if (match === null || meant === null) continue;
    maker.keep(read, index);
    read = index + match[0].length;
    maker.replace(index, read, meant);
    index = read - 1;
  }
  if (maker.untouched) return null;
  maker.keep(read, text.length);
  return maker.view();
}

/** What an escape stands for; null where it is none. */
function meaning(match: RegExpExecArray): string | null {
  const [, braced, four, two, octal, simple, percentFour, percent, decimal, hex, name] = match;
  if (simple !== undefined) return CONTROLS[simple] ?? simple;
  if (name !== undefined) return entity(name) ?? null;
  if (octal !== undefined) return String.fromCharCode(Number.parseInt(octal, 8) & 0xff);
  if (decimal !== undefined) return character(Number(decimal));
  const digits = braced ?? four ?? two ?? percentFour ?? percent ?? hex;
  if (digits !== undefined) return character(Number.parseInt(digits, 16));
  return '';
}

function character(code: number): string | null {
  return code > MOST_CODE_POINT ? null : String.fromCodePoint(code);
}
