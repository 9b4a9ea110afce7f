/** Longest text, in UTF-16 units, that is searched for numbers. */
export const MAX_NUMBER_TEXT = 1_000_000;

/**
 * A decimal number in running text: a sign (also U+2212) that no letter, digit or dot precedes, digits with or without thousands
 * separated by commas, a fraction, an exponent. Each character is visited a bounded number of times.
 */
const NUMBER =
  /(?<![\p{L}\p{N}_]|\p{N}\.)[+\-\u2212]?(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?(?:[eE][+-]?\d+(?![\p{L}\p{N}]))?|(?<![\p{L}\p{N}_.])[+\-\u2212]?\.\d+(?:[eE][+-]?\d+(?![\p{L}\p{N}]))?/gu;

/** The numbers written in a text, in order; what is beyond the range of a double is left as infinite for the caller to refuse. */
export function numbersIn(text: string): { readonly written: string; readonly value: number }[] {
  return Array.from(text.matchAll(NUMBER), ([written]) => ({ written, value: numberOf(written) }));
}

/** The number that a whole text is, white space at the ends apart; undefined when it is not one finite number. */
export function wholeNumber(text: string): number | undefined {
  const trimmed = text.trim();
  if (trimmed.length > 1000) return undefined;
  const [first] = numbersIn(trimmed);
  return first !== undefined && first.written === trimmed && Number.isFinite(first.value) ? first.value : undefined;
}

/** `+ 0` makes -0 a 0. */
function numberOf(written: string): number {
  return Number(written.replaceAll(',', '').replace('\u2212', '-')) + 0;
}
