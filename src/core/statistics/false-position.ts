/** Where a growing function is looked for: two ends around its root, and its values there, below 0 and above, or bounds of them. */
export interface Bracket {
  readonly low: number;
  readonly high: number;
  readonly atLow: number;
  readonly atHigh: number;
}

const NEAR = 1e-12;
const MOST_STEPS = 200;

/**
 * The root of a growing function within the bracket, to 1e-12: a look at each guess that lies inside, then the Illinois form of the false
 * position (Dowell and Jarratt 1971). An end that was kept twice counts half, so that both ends move.
 */
export function falsePosition(f: (x: number) => number, bracket: Bracket, guesses: readonly number[]): number {
  let { low, high, atLow, atHigh } = bracket;
  const narrow = (x: number): number => {
    const at = f(x);
    if (at < 0) {
      low = x;
      atLow = at;
    } else {
      high = x;
      atHigh = at;
    }
    return at;
  };
  for (const guess of guesses) if (guess > low && guess < high) narrow(guess);
  let kept = 0; // which end the last step kept, −1 or 1
  for (let step = 0; step < MOST_STEPS && high - low > NEAR; step += 1) {
    const secant = (low * atHigh - high * atLow) / (atHigh - atLow);
    const middle = secant > low && secant < high ? secant : (low + high) / 2;
    const at = narrow(middle);
    if (at === 0) return middle;
    if (at < 0) {
      if (kept === 1) atHigh /= 2;
      kept = 1;
    } else {
      if (kept === -1) atLow /= 2;
      kept = -1;
    }
  }
  return (low + high) / 2;
}

/** The largest x in [0, top] for which `holds`, which holds up to there and no further; to the last bits. */
export function bisect(top: number, holds: (x: number) => boolean): number {
  let low = 0;
  let high = top;
  for (let step = 0; step < 60; step += 1) {
    const middle = (low + high) / 2;
    if (holds(middle)) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}
