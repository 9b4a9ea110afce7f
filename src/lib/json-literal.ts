/**
 * True when the number read from a JSON literal says what the literal says: an integer comes back with the same digits,
 * nothing overflows to infinity or vanishes to zero. Decimal fractions are rounded as every reader of JSON rounds them.
 */
export function carriesExactly(literal: string, value: number, integer: boolean): boolean {
  if (!Number.isFinite(value)) return false;
  if (value === 0) return !/^[^eE]*[1-9]/.test(literal);
  return !integer || literal.length <= 15 || integerDigits(String(value)) === literal;
}

/** The letters that start at an offset, at most nine: `true`, `null`, `Infinity`, or something that is no literal. */
export function wordAt(text: string, offset: number): string {
  return /^[A-Za-z]*/.exec(text.slice(offset, offset + 9))?.[0] ?? '';
}

/** ECMAScript's form of a large integer (`1.25e+21`) written out in digits. */
function integerDigits(text: string): string {
  const [mantissa = '', exponent] = text.split('e+');
  if (exponent === undefined) return text;
  const [whole = '', fraction = ''] = mantissa.split('.');
  return whole + fraction.padEnd(Number(exponent), '0');
}
