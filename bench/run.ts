/**
 * The benchmarks of DESIGN §9 that are here so far, one after another, as one table and a JSON file in bench/out/.
 * Ratios hold on a noisy machine, absolute rates only on a quiet one. Exit code 1 when a bar is missed.
 *
 *   npm run bench -- [--only durable,million,http,help,gateway,sharing,speed,stall,postgres] [--quick]
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { availableParallelism, cpus, loadavg, tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import type { Figure, Row, RowResult } from './row.ts';
import { durable } from './rows/durable.ts';
import { gateway } from './rows/gateway.ts';
import { help } from './rows/help.ts';
import { http } from './rows/http.ts';
import { million } from './rows/million.ts';
import { postgres } from './rows/postgres.ts';
import { sharing } from './rows/sharing.ts';
import { speed } from './rows/speed.ts';
import { stall } from './rows/stall.ts';

const ROWS: readonly Row[] = [durable, million, http, help, gateway, sharing, speed, stall, postgres];
const OUT = path.join(import.meta.dirname, 'out');

const { values } = parseArgs({ options: { only: { type: 'string' }, quick: { type: 'boolean', default: false } } });
const results: Measured[] = [];
for (const row of chosen(values.only)) results.push(await measure(row, values.quick));
print(table(results.flatMap(({ row, result }) => result.figures.map((figure) => ({ row: row.name, ...figure })))));
await write(results);
process.exitCode = results.some(({ result }) => result.figures.some((figure) => figure.met === false)) ? 1 : 0;

interface Measured {
  readonly row: Row;
  readonly result: RowResult;
  readonly seconds: number;
}

function chosen(only: string | undefined): readonly Row[] {
  if (only === undefined) return ROWS;
  return only.split(',').map((name) => {
    const row = ROWS.find((candidate) => candidate.name === name.trim());
    if (row === undefined)
      throw new Error(`there is no row \`${name}\`; the rows are ${ROWS.map((known) => known.name).join(', ')}`);
    return row;
  });
}

async function measure(row: Row, quick: boolean): Promise<Measured> {
  const note = (text: string) => void process.stderr.write(`bench ${row.name}: ${text}\n`);
  note(row.title);
  const folder = await mkdtemp(path.join(process.env['PROCTOR_BENCH_DIR'] ?? tmpdir(), `proctor-bench-${row.name}-`));
  const started = performance.now();
  try {
    return {
      row,
      result: await row.measure({ folder, quick, note }),
      seconds: Math.round((performance.now() - started) / 1000),
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function table(rows: readonly (Figure & { readonly row: string })[]): string {
  const lines = [['row', 'figure', 'bar', 'measured', 'peer or raw in the same run', 'met']];
  for (const { row, figure, bar, measured, beside, met } of rows)
    lines.push([row, figure, bar, measured, beside, met === null ? '' : met ? 'yes' : 'NO']);
  const widths = lines[0]?.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0))) ?? [];
  return lines
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

async function write(measured: readonly Measured[]): Promise<void> {
  await mkdir(OUT, { recursive: true });
  const at = new Date().toISOString();
  const machine = {
    node: process.version,
    platform: `${process.platform} ${process.arch}`,
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: availableParallelism(),
    load: loadavg(),
  };
  const rows = Object.fromEntries(
    measured.map(({ row, result, seconds }) => [row.name, { title: row.title, seconds, ...result }]),
  );
  const file = path.join(OUT, `${at.replaceAll(/[:.]/g, '-')}.json`);
  await writeFile(file, `${JSON.stringify({ at, quick: values.quick, machine, rows }, null, 2)}\n`);
  print(
    `\nwritten to ${path.relative(process.cwd(), file)}; load average ${machine.load.map((load) => load.toFixed(1)).join(' ')} on ${machine.cores} cores`,
  );
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}
