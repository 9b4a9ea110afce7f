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
