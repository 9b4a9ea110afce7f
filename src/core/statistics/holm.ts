/**
 * p-values adjusted for the number of tests by Holm's step-down method (Holm 1979): the i-th smallest of m times m − i + 1, never
 * below the adjusted value before it and never above 1. In the order given; a null (a test that could not be made) stays null and
 * counts as no test.
 */
export function holm(pValues: readonly (number | null)[]): (number | null)[] {
  const made = pValues.flatMap((p, index) => (p === null ? [] : [{ p, index }]));
  made.sort((a, b) => a.p - b.p || a.index - b.index);
  const adjusted: (number | null)[] = pValues.map(() => null);
  let least = 0;
  for (const [rank, { p, index }] of made.entries()) {
    if (!(p >= 0 && p <= 1)) throw new RangeError(`${p} is no p-value`);
    least = Math.max(least, Math.min(1, p * (made.length - rank)));
    adjusted[index] = least;
  }
  return adjusted;
}
