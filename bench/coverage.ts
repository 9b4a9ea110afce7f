/**
 * Coverage of the intervals by simulation, with the simulation's own standard error. First the bounds of means: how often each lies on the wrong
 * side of the truth, beside method 1, over units, rates and correlations. Then the others; the always-valid interval has to hold at every look at
 * once, so it is looked at after each value.
 *
 *   npm run coverage -- [--rounds 1000]
 */
import { parseArgs } from 'node:util';
import { table } from '../src/cli/format.ts';
import { meanCoverages } from './coverage-means.ts';
import { coverages } from './coverage-simulations.ts';

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '1000' } } });
const rounds = Number(values.rounds);
if (!(Number.isSafeInteger(rounds) && rounds >= 10))
  throw new Error(`--rounds is \`${values.rounds}\`; it must be 10 or more`);
const share = (value: number) => (value * 100).toFixed(1);
const both = ([low, high]: readonly [number, number]) => `${share(low)} / ${share(high)}`;
const means = [];
for (const found of meanCoverages(rounds)) {
  const { setting, units, rate, icc, missed, width, before, met } = found;
  means.push([
    setting,
    String(units),
    String(rate),
    String(icc),
    both(missed),
    width.toFixed(3),
    both(before.missed),
    before.width.toFixed(3),
    met ? 'yes' : 'NO',
  ]);
}
const error = Math.sqrt((0.025 * 0.975) / rounds);
process.stdout.write(
  `Bounds of means at 95 %: misses low / high in %, nominal 2.5 a side, bar 2.5 + 3 standard errors of ${share(error)}\n`,
);
process.stdout.write(
  `${table([['simulated', 'units', 'rate', 'icc', 'misses', 'width', 'method 1', 'width', 'met'], ...means])}\n\n`,
);
const rows = coverages(rounds).map(({ interval, what, covered, error, bar, met }) => [
  interval,
  what,
  `${(covered * 100).toFixed(1)} %`,
  `± ${(error * 100).toFixed(2)} %`,
  bar,
  met ? 'yes' : 'NO',
]);
process.stdout.write(
  `${table([['interval', 'simulated', 'holds the truth', 'standard error', 'bar', 'met'], ...rows])}\n`,
);
process.exitCode = [...means, ...rows].some((row) => row.at(-1) === 'NO') ? 1 : 0;
