/** How many characters of a value a reason shows. */
export const SHOWN_CHARACTERS = 200;

/**
 * A value as a reason shows it: JSON on one line, cut after `limit` characters with the whole length behind it, without control
 * characters or invisible direction marks that could forge what a terminal shows.
 */
export function shown(value: unknown, limit: number = SHOWN_CHARACTERS): string {
  if (value === undefined) return 'nothing';
  if (typeof value === 'string') return shownText(value, limit);
  const text = jsonUpTo(value, limit + 1);
  return text.length > limit ? `${escapeInvisible(cut(text, limit))}…` : escapeInvisible(text);
}

/** A name or pattern as it stands between backticks: not quoted, control and invisible characters escaped, cut after `limit` characters. */
export function plain(text: string, limit: number = SHOWN_CHARACTERS): string {
  const part = text.length > limit ? `${cut(text, limit)}…` : text;
  return escapeInvisible(part.toWellFormed());
}

/** The items as reasons list them: shown one by one, the first few, and how many more there are. */
export function shownList(items: readonly unknown[], most = 5): string {
  const listed = items.slice(0, most).map((item) => shown(item, 60));
  const more = items.length - listed.length;
  return more > 0 ? `${listed.join(', ')} and ${more} more` : listed.join(', ');
}

/** The first `limit` UTF-16 units of a text, one fewer where the cut would split a surrogate pair. */
export function cut(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const last = text.charCodeAt(limit - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? limit - 1 : limit);
}

function shownText(text: string, limit: number): string {
  if (text.length <= limit) return escapeInvisible(JSON.stringify(text));
  return `${escapeInvisible(JSON.stringify(`${cut(text, limit)}…`))} (${text.length} characters)`;
}

function escapeInvisible(text: string): string {
  return text.replace(INVISIBLE, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
}

/** Control characters, soft hyphen, zero width space, direction marks, line separators, tag characters. */
const INVISIBLE =
  /[\p{Cc}\u{ad}\u{61c}\u{200b}\u{200e}\u{200f}\u{2028}-\u{202e}\u{2060}-\u{206f}\u{feff}\u{fff9}-\u{fffb}\u{e0000}-\u{e007f}]/gu;

/** At least the first `limit` characters of a value's JSON; stops early, so that neither size nor depth of the value matters. */
function jsonUpTo(value: unknown, limit: number): string {
  if (limit <= 0) return '';
  if (typeof value === 'string') return JSON.stringify(cut(value, limit));
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const array = Array.isArray(value);
  let text = array ? '[' : '{';
  for (const [key, member] of Object.entries(value)) {
    if (text.length > limit) return text;
    if (text.length > 1) text += ',';
    if (!array) text += `${JSON.stringify(cut(key, limit))}:`;
    text += jsonUpTo(member, limit - text.length);
  }
  return `${text}${array ? ']' : '}'}`;
}
