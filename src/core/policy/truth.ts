/** What a condition comes to: it holds, it does not, or it cannot be told (an argument is missing or of another kind). */
export type Truth = 'holds' | 'fails' | 'unknown';

/** What can be told. */
export const truth = (holds: boolean): Truth => (holds ? 'holds' : 'fails');

/** The opposite; what cannot be told stays so. */
export function opposite(value: Truth): Truth {
  if (value === 'unknown') return 'unknown';
  return value === 'holds' ? 'fails' : 'holds';
}

/** All of them: one that fails decides, else one that cannot be told. */
export function every<Item>(items: readonly Item[], test: (item: Item) => Truth): Truth {
  let result: Truth = 'holds';
  for (const item of items) {
    const one = test(item);
    if (one === 'fails') return 'fails';
    if (one === 'unknown') result = 'unknown';
  }
  return result;
}

/** What holds for all of them, or for none; where they differ, and where there are none, it cannot be told. */
export function alike<Item>(items: readonly Item[], test: (item: Item) => Truth): Truth {
  let result: Truth | null = null;
  for (const item of items) {
    const one = test(item);
    if (one === 'unknown' || (result !== null && one !== result)) return 'unknown';
    result = one;
  }
  return result ?? 'unknown';
}
