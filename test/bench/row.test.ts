import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { openApp, runEngine } from '../../bench/engine-run.ts';
import { writeWorkload } from '../../bench/fixtures/workload.ts';
import { measureProctor, passedRun, storeOf } from '../../bench/proctor-cli.ts';
import { rawRate } from '../../bench/raw-writes.ts';
import { median, percentile, shown } from '../../bench/row.ts';

const COUNTED = ['execution', 'queue', 'attempt', 'evidence', 'result', 'event'];

test('the median of an even number is between the two in the middle, a percentile is one of the values', () => {
  expect([median([9, 1, 5]), median([4, 1, 3, 2]), median([7])]).toEqual([5, 2.5, 7]);
  const values = Array.from({ length: 200 }, (_, index) => 200 - index);
  expect([percentile(values, 0.5), percentile(values, 0.99), percentile(values, 1)]).toEqual([100, 198, 200]);
  expect(() => median([])).toThrow('no values have no median');
  expect([shown(12345.6), shown(99.94), shown(0.8512)]).toEqual(['12,346', '99.9', '0.851']);
});

test('the engine run tells every claim and completion, and the raw write leaves the rows that the engine left', async () => {
  await using folder = await temporary();
  await writeWorkload(folder.path, { cases: 150, concurrency: 64 });
  const claimed: number[] = [];
  const completed: number[] = [];
  await using app = await openApp(folder.path);
  const run = await runEngine(app, {
    folder: folder.path,
    concurrency: 64,
    onClaims: (ordinals) => claimed.push(...ordinals),
    onComplete: (ordinal) => completed.push(ordinal),
  });
  const all = Array.from({ length: 150 }, (_, ordinal) => ordinal);
  expect([sorted(claimed), sorted(completed)]).toEqual([all, all]);

  const raw = path.join(folder.path, 'raw.db');
  expect(rawRate(run.store_path, raw, 150)).toBeGreaterThan(0);
  const rows = contents(run.store_path);
  expect(rows['event']).toHaveLength(300);
  expect(contents(raw)).toEqual(rows);
});

test('the command line tool runs the same workload, and a run with too few cases passed is refused', async () => {
  await using folder = await temporary();
  await writeWorkload(folder.path, { cases: 3, concurrency: 2 });
  const measure = await measureProctor(folder.path, ['run', 'profile.json', '--json', '--quiet']);
  expect(passedRun(measure, 3).run_id).toMatch(/^run_/);
  expect(() => passedRun(measure, 4)).toThrow('3 of 4 cases passed');
  expect(contents(storeOf(folder.path))['result']).toHaveLength(3);
  await expect(measureProctor(folder.path, ['show', 'run_none'])).rejects.toThrow(
    '`proctor show run_none` ended with 2',
  );
});

/** What the rows of the executions say, without the run's own events. */
function contents(store: string): Record<string, unknown[]> {
  using db = new DatabaseSync(store, { readOnly: true });
  return Object.fromEntries(
    COUNTED.map((table) => {
      const rows = db.prepare(`select * from ${table} where ordinal is not null order by ordinal`).all();
      return [
        table,
        rows
          .map(({ position: _position, ...row }) => row)
          .map((row) => JSON.stringify(row))
          .sort(),
      ];
    }),
  );
}

function sorted(values: readonly number[]): number[] {
  return [...values].sort((left, right) => left - right);
}

interface Temporary extends AsyncDisposable {
  readonly path: string;
}

async function temporary(): Promise<Temporary> {
  const folder = await mkdtemp(path.join(tmpdir(), 'proctor-bench-test-'));
  return { path: folder, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) };
}
