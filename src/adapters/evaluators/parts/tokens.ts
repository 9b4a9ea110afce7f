/** A token: one Han, Hiragana or Katakana character, or a run of other letters, marks and digits. */
const TOKEN =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]|(?:(?![\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}])[\p{L}\p{M}\p{N}])+/gu;

/** The tokens of a text, in order; punctuation and white space separate. */
export function tokensOf(text: string): string[] {
  return text.match(TOKEN) ?? [];
}

/** F1 of precision and recall of the tokens counted with repetition; two texts without tokens are equal. */
export function tokenF1(actual: readonly string[], expected: readonly string[]): number {
  const counts = new Map<string, number>();
  for (const token of expected) counts.set(token, (counts.get(token) ?? 0) + 1);
  let common = 0;
  for (const token of actual) {
    const left = counts.get(token) ?? 0;
    if (left === 0) continue;
    common += 1;
    counts.set(token, left - 1);
  }
  return f1(common, actual.length, expected.length);
}

/** Share of the distinct tokens of both that both have; two texts without tokens are equal. */
export function jaccard(actual: readonly string[], expected: readonly string[]): number {
  const left = new Set(actual);
  const right = new Set(expected);
  const common = left.intersection(right).size;
  const either = left.size + right.size - common;
  return either === 0 ? 1 : common / either;
}

/** 2·common/(a+b): the harmonic mean of common/a and common/b; 1 when both are empty. */
export function f1(common: number, actual: number, expected: number): number {
  return actual + expected === 0 ? 1 : (2 * common) / (actual + expected);
}

/** Tokens as numbers, the same number for the same token in all lists. */
export function numbered(...lists: readonly (readonly string[])[]): Int32Array[] {
  const numbers = new Map<string, number>();
  return lists.map((tokens) =>
    Int32Array.from(tokens, (token) => {
      const number = numbers.get(token) ?? numbers.size;
      numbers.set(token, number);
      return number;
    }),
  );
}
