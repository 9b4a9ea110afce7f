/**
 * Says on stderr what a test cannot do here and what it therefore leaves out; answers whether it is to be left out. Under
 * `CI=true` nothing is left out silently: it throws instead.
 */
export function leavesOut(missing: string | null, what: string): boolean {
  if (missing === null) return false;
  if (process.env['CI'] === 'true')
    throw new Error(`${missing}, so ${what} cannot be tested; under CI=true that is a failure`);
  process.stderr.write(`left out: ${what}, because ${missing}\n`);
  return true;
}
