/** How two JSON values may differ and still count as alike. */
export interface Likeness {
  /** Most that two numbers may differ by. */
  readonly tolerance?: number;
  readonly ignoreCase?: boolean;
  /** Objects may have members that were not expected, at any depth. */
  readonly subset?: boolean;
}

/** True when two JSON values are alike; -0 equals 0, the order of members does not count, only own members do. */
export function jsonAlike(actual: unknown, expected: unknown, likeness: Likeness = {}): boolean {
  if (actual === expected) return true;
  if (typeof actual === 'string' && typeof expected === 'string')
    return likeness.ignoreCase === true && actual.toLowerCase() === expected.toLowerCase();
  if (typeof actual === 'number' && typeof expected === 'number')
    return within(actual, expected, likeness.tolerance ?? 0);
  if (typeof actual !== 'object' || typeof expected !== 'object' || actual === null || expected === null) return false;
  if (Array.isArray(actual) || Array.isArray(expected)) {
    if (!Array.isArray(actual) || !Array.isArray(expected) || actual.length !== expected.length) return false;
    return expected.every((member, index) => jsonAlike(actual[index], member, likeness));
  }
  const keys = Object.keys(expected);
  if (likeness.subset !== true && Object.keys(actual).length !== keys.length) return false;
  return keys.every(
    (key) => Object.hasOwn(actual, key) && jsonAlike(member(actual, key), member(expected, key), likeness),
  );
}

/**
 * True when two numbers differ by at most `tolerance`. A tolerance above 0 is widened by four units in the last place, so that
 * 1.1 is within 0.1 of 1.0 although binary arithmetic says 0.10000000000000009; a tolerance of 0 stays exact.
 */
export function within(actual: number, expected: number, tolerance: number): boolean {
  const slack = tolerance > 0 ? 4 * Number.EPSILON * Math.max(Math.abs(actual), Math.abs(expected)) : 0;
  return Math.abs(actual - expected) <= tolerance + slack;
}

function member(value: object, key: string): unknown {
  return (value as Readonly<Record<string, unknown>>)[key];
}
