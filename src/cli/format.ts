/** `1.2 s`, `3 min 04 s`, `850 ms`. */
export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${String(seconds % 60).padStart(2, '0')} s`;
  return `${Math.floor(seconds / 3600)} h ${String(Math.floor((seconds % 3600) / 60)).padStart(2, '0')} min`;
}

/** `97.6 %`; a share that is not whole never shows as 100 %. */
export function percent(share: number): string {
  const shown = (share * 100).toFixed(1);
  return `${shown === '100.0' && share < 1 ? '99.9' : shown} %`;
}

/** Micro-USD for people: `$1.2345`. */
export function usd(microUsd: number): string {
  return `$${(microUsd / 1e6).toFixed(microUsd < 1e6 ? 4 : 2)}`;
}

/** `12,345`. */
export function number(value: number): string {
  return value.toLocaleString('en-US');
}

/** `1 case`, `2 cases`: a number with what it counts. */
export function counted(value: number, one: string, many = `${one}s`): string {
  return `${number(value)} ${value === 1 ? one : many}`;
}

/** The text cut to a width, with an ellipsis; by characters, which is right for what we print. */
export function cut(text: string, width: number): string {
  const characters = [...text];
  return characters.length <= width ? text : `${characters.slice(0, Math.max(0, width - 1)).join('')}…`;
}

/** The text in lines of at most `width` columns: broken at spaces where there are some, the indentation of a line kept. */
export function wrapped(text: string, width: number): string[] {
  return text.split('\n').flatMap((line) => wrappedLine(line, width));
}

function wrappedLine(line: string, width: number): string[] {
  const indent = /^ */.exec(line)?.[0].slice(0, Math.floor(width / 2)) ?? '';
  const found: string[] = [];
  for (let from = 0; from < line.length || found.length === 0; ) {
    const before = found.length === 0 ? '' : indent;
    const fits = from + charactersWithin(line.slice(from, from + 16 * width), width - before.length);
    const space = fits < line.length ? line.lastIndexOf(' ', fits) : -1;
    const end = space > from + width / 3 ? space : fits;
    found.push(`${before}${line.slice(from, end).trimEnd()}`);
    for (from = end; end < line.length && line[from] === ' '; ) from += 1;
  }
  return found;
}

/** How many code units from the start take at most `width` columns; at least one character where there is one. */
function charactersWithin(text: string, width: number): number {
  let columns = 0;
  let units = 0;
  for (const { segment } of SEGMENTS.segment(text)) {
    columns += columnsOf(segment);
    if (columns > width && units > 0) break;
    units += segment.length;
  }
  return units;
}

const SEGMENTS = new Intl.Segmenter(undefined, { granularity: 'grapheme' });
const WIDE =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Emoji_Presentation}\u3000-\u303f\uff00-\uff60]/u;

/** How many columns of a terminal a text takes. */
export function columnsOf(text: string): number {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  let columns = 0;
  for (const { segment } of SEGMENTS.segment(text)) columns += WIDE.test(segment) ? 2 : 1;
  return columns;
}

/** Rows as columns, padded to the widest cell, the last one left as it is. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => visibleLength(row[column] ?? '')))) ?? [];
  return rows
    .map((row) =>
      row
        .map((cell, column) =>
          column === row.length - 1 ? cell : cell + ' '.repeat((widths[column] ?? 0) - visibleLength(cell)),
        )
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** A bar of `width` cells, filled by the share. */
export function bar(share: number, width: number): string {
  const filled = Math.round(Math.max(0, Math.min(1, share)) * width);
  return '█'.repeat(filled) + '░'.repeat(width - filled);
}

function visibleLength(text: string): number {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: styles are escape sequences and take no room
  return [...text.replace(/\u001b\[[0-9;]*m/g, '')].length;
}
