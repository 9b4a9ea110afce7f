/** How far two ratings are apart: `interval` by the square of their difference, `nominal` by whether they differ. */
export type RatingMetric = 'interval' | 'nominal';

/**
 * Krippendorff's alpha (Krippendorff 2011): 1 − observed/expected disagreement of several raters over units; null ratings are missing, units
 * with fewer than two ratings say nothing. 1 is perfect agreement, 0 what chance would give. Null where it is not defined: no two ratings
 * of any unit, or all ratings the same.
 */
export function krippendorffAlpha(units: readonly (readonly (number | null)[])[], metric: RatingMetric): number | null {
  const rated = units.map((unit) => unit.filter((value) => value !== null)).filter((unit) => unit.length > 1);
  const all = rated.flat();
  const n = all.length;
  if (n === 0) return null;
  const distance = metric === 'interval' ? squares : unequal;
  const expected = distance(all) / (n * (n - 1));
  if (expected === 0) return null;
  const observed = rated.reduce((sum, unit) => sum + distance(unit) / (unit.length - 1), 0) / n;
  return 1 - observed / expected;
}

/** The sum of squared differences over all ordered pairs, 2·(n·Σx² − (Σx)²), around the mean so that nothing cancels. */
function squares(values: readonly number[]): number {
  const centre = values.reduce((sum, value) => sum + value, 0) / values.length;
  return 2 * values.length * values.reduce((sum, value) => sum + (value - centre) ** 2, 0);
}

/** How many ordered pairs differ. */
function unequal(values: readonly number[]): number {
  const counts = new Map<number, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return values.length ** 2 - [...counts.values()].reduce((sum, count) => sum + count ** 2, 0);
}
