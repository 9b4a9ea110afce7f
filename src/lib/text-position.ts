/** A place in a text, as editors count: line and column from 1, columns in UTF-16 code units. */
export interface TextPosition {
  readonly line: number;
  readonly column: number;
}

/** The positions of ascending offsets in a text whose first character stands at `origin`; one pass over the text. */
export function positionsOf(
  text: string,
  offsets: readonly number[],
  origin: TextPosition = { line: 1, column: 1 },
): TextPosition[] {
  let { line } = origin;
  let lineStart = 1 - origin.column;
  let newline = text.indexOf('\n');
  return offsets.map((offset) => {
    while (newline !== -1 && newline < offset) {
      line += 1;
      lineStart = newline + 1;
      newline = text.indexOf('\n', lineStart);
    }
    return { line, column: offset - lineStart + 1 };
  });
}
