/**
 * Exact McNemar test (McNemar 1947, exact form): among `improved + regressed` cases whose result differs between two runs, the
 * two-sided p-value that improvements and regressions are equally likely, min(1, 2·P(X ≤ min(improved, regressed))) with
 * X ~ Binomial(improved + regressed, ½). 1 when nothing differs. Throws a RangeError for negative or fractional counts.
 */
export function exactMcNemar(improved: number, regressed: number): number {
  for (const count of [improved, regressed])
    if (!(Number.isSafeInteger(count) && count >= 0)) throw new RangeError(`${count} is no count of cases`);
  const n = improved + regressed;
  const least = Math.min(improved, regressed);
  // C(n, least)/2ⁿ as a product of factors near 1, halved along the way so that nothing overflows or vanishes early.
  let halvings = n;
  let top = 1;
  for (let drawn = 1; drawn <= least; drawn += 1) {
    top *= (n - least + drawn) / drawn;
    while (top > 1) {
      top /= 2;
      halvings -= 1;
    }
  }
  for (; halvings > 0; halvings -= 1) top /= 2;
  // The terms below it, each from the one above: C(n, i−1) = C(n, i)·i/(n−i+1); below i = 0 the term is 0.
  let term = top;
  let tail = top;
  for (let i = least; term > tail * 2 ** -60; i -= 1) {
    term *= i / (n - i + 1);
    tail += term;
  }
  return Math.min(1, 2 * tail);
}
