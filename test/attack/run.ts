/**
 * The standing attack: alterations of stores and bundles, malformed inputs, secrets in every form, kills.
 *
 *   npm run attack [-- --only store|bundle|inputs|secrets|chaos] [--seed N]
 *
 * `--only` may stand several times. Exit code 1 on any failure, each named with what reproduces it.
 */
import { parseArgs } from 'node:util';
import { duration, number, table } from '../../src/cli/format.ts';
import { attackBundle } from './bundle.ts';
import { attackByChaos } from './chaos.ts';
import { attackInputs } from './inputs.ts';
import { attackBySecrets } from './secrets.ts';
import { attackStore } from './store.ts';
import type { AttackOptions, Tally } from './tally.ts';

const PARTS: Readonly<Record<string, (options: AttackOptions) => Promise<Tally>>> = {
  store: attackStore,
  bundle: attackBundle,
  inputs: attackInputs,
  secrets: attackBySecrets,
  chaos: attackByChaos,
};

const { values } = parseArgs({
  options: {
    only: { type: 'string', multiple: true, default: [] },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  },
});
const seed = Number(values.seed);
const unknown = values.only.filter((part) => !(part in PARTS));
if (unknown.length > 0 || !Number.isSafeInteger(seed) || seed < 0) {
  process.stderr.write(
    `usage: npm run attack [-- --only ${Object.keys(PARTS).join('|')}] [--seed N]; got --only ${values.only.join(' ')} --seed ${values.seed}\n`,
  );
  process.exit(2);
}

const parts = Object.entries(PARTS).filter(([part]) => values.only.length === 0 || values.only.includes(part));
const rows: string[][] = [['attack', 'what', 'tried', 'held', 'failures']];
const failures: string[] = [];
const notes: string[] = [];
for (const [part, attack] of parts) {
  process.stderr.write(`${part}, seed ${seed}\n`);
  const started = performance.now();
  const tally = await attack({ seed, say: (text) => process.stderr.write(`  ${text}\n`) });
  for (const [kind, tried, held] of tally.rows())
    rows.push([part, kind, number(tried), number(held), number(tried - held)]);
  notes.push(`${part}: ${number(tally.total)} tried in ${duration(performance.now() - started)}`);
  notes.push(...tally.notes.map((note) => `${part}: ${note}`));
  failures.push(
    ...tally.failures.map((failure) => `${part}: ${failure}\n    npm run attack -- --only ${part} --seed ${seed}`),
  );
}
process.stdout.write(`\n${table(rows)}\n\n${notes.join('\n')}\n`);
for (const failure of failures) process.stdout.write(`FAILED ${failure}\n`);
process.stdout.write(
  failures.length === 0 ? `\nnothing gave way; seed ${seed}\n` : `\n${failures.length} failures; seed ${seed}\n`,
);
process.exitCode = failures.length === 0 ? 0 : 1;
