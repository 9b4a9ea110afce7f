/** A text as a row of symbols (code points, or tokens by number), so that all distances count the same way. */
export type Symbols = Int32Array;

/** The code points of a text. */
export function codePoints(text: string): Symbols {
  const points = new Int32Array(text.length);
  let count = 0;
  for (const character of text) {
    points[count] = character.codePointAt(0) ?? 0;
    count += 1;
  }
  return points.subarray(0, count);
}

/**
 * Levenshtein distance: the fewest insertions, deletions and substitutions. Bit-parallel (Myers 1999, in Hyyrö's blocks of 32 rows):
 * ⌈m/32⌉·n steps; equal ends are taken off first.
 */
export function levenshtein(left: Symbols, right: Symbols): number {
  const [pattern, text] = withoutCommonEnds(left, right);
  if (pattern.length === 0 || text.length === 0) return Math.max(pattern.length, text.length);
  const carriedUp = new Uint8Array(text.length).fill(1); // row 0 of the matrix grows by 1 a column
  const carriedDown = new Uint8Array(text.length);
  let score = pattern.length;
  forEachBlock(pattern, text, (masks, codes, rows) => {
    let up = -1;
    let down = 0;
    score = pattern.length;
    for (let column = 0; column < codes.length; column += 1) {
      const equal = masks[codes[column]!]!;
      const upIn = carriedUp[column]!;
      const downIn = carriedDown[column]!;
      const vertical = equal | down;
      const matched = equal | downIn;
      const horizontal = (((matched & up) + up) ^ up) | matched;
      let growing = down | ~(horizontal | up);
      let shrinking = up & horizontal;
      const upOut = (growing >>> (rows - 1)) & 1;
      const downOut = (shrinking >>> (rows - 1)) & 1;
      score += upOut - downOut;
      carriedUp[column] = upOut;
      carriedDown[column] = downOut;
      growing = (growing << 1) | upIn;
      shrinking = (shrinking << 1) | downIn;
      up = shrinking | ~(vertical | growing);
      down = growing & vertical;
    }
  });
  return score;
}

/** Length of the longest common subsequence. Bit-parallel (Hyyrö 2004), with the carry of every column kept from block to block. */
export function longestCommonSubsequence(left: Symbols, right: Symbols): number {
  const [pattern, text, ends] = withoutCommonEnds(left, right);
  if (pattern.length === 0 || text.length === 0) return ends;
  const carries = new Uint8Array(text.length);
  let length = ends;
  forEachBlock(pattern, text, (masks, codes, rows) => {
    let open = -1;
    for (let column = 0; column < codes.length; column += 1) {
      const mask = masks[codes[column]!]!;
      const sum = (open >>> 0) + ((open & mask) >>> 0) + carries[column]!;
      carries[column] = sum > 0xffffffff ? 1 : 0;
      open = sum | (open & ~mask);
    }
    const used = rows === 32 ? -1 : (1 << rows) - 1;
    length += bitCount(~open & used);
  });
  return length;
}

/** Calls `visit` for each 32 symbols of the pattern with the rows where each symbol stands, and the text in the pattern's own numbering. */
function forEachBlock(
  pattern: Symbols,
  text: Symbols,
  visit: (masks: Int32Array, codes: Int32Array, rows: number) => void,
): void {
  const numbers = new Map<number, number>();
  const patternCodes = pattern.map((symbol) => {
    const known = numbers.get(symbol);
    if (known !== undefined) return known;
    numbers.set(symbol, numbers.size + 1);
    return numbers.size;
  });
  const codes = text.map((symbol) => numbers.get(symbol) ?? 0); // 0: a symbol that the pattern does not have
  const masks = new Int32Array(numbers.size + 1);
  for (let start = 0; start < pattern.length; start += 32) {
    const block = patternCodes.subarray(start, start + 32);
    block.forEach((code, row) => {
      masks[code] = masks[code]! | (1 << row);
    });
    visit(masks, codes, block.length);
    for (const code of block) masks[code] = 0;
  }
}

function withoutCommonEnds(left: Symbols, right: Symbols): [shorter: Symbols, longer: Symbols, ends: number] {
  const [shorter, longer] = left.length <= right.length ? [left, right] : [right, left];
  let start = 0;
  while (start < shorter.length && shorter[start] === longer[start]) start += 1;
  let end = 0;
  while (end < shorter.length - start && shorter[shorter.length - 1 - end] === longer[longer.length - 1 - end])
    end += 1;
  return [shorter.subarray(start, shorter.length - end), longer.subarray(start, longer.length - end), start + end];
}

function bitCount(bits: number): number {
  let rest = bits - ((bits >>> 1) & 0x55555555);
  rest = (rest & 0x33333333) + ((rest >>> 2) & 0x33333333);
  return Math.imul((rest + (rest >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}
