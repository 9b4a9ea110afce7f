/**
 * Coverage of the intervals by simulation: how often an interval at 95 % holds the true value, with the simulation's own standard error.
 * The always-valid one has to hold at every look at once, so it is looked at after each value.
 *
 *   npm run coverage -- [--rounds 2000]
 */
import { parseArgs } from 'node:util';
import { table } from '../src/cli/format.ts';
import { coverages } from './coverage-simulations.ts';

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '2000' } } });
const rounds = Number(values.rounds);
if (!(Number.isSafeInteger(rounds) && rounds >= 10))
  throw new Error(`--rounds is \`${values.rounds}\`; it must be 10 or more`);
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
process.exitCode = rows.some((row) => row[5] === 'NO') ? 1 : 0;
