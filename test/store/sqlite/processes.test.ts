import { describe, expect, it } from 'vitest';
import type { ExecutionKey, ExecutionRow } from '../../../src/contract/store.ts';
import { openSqliteStore } from '../../../src/store/sqlite/store.ts';
import { newRun, newSession, pages, plain, planned, temporaryFolder } from '../../support/store-fixture.ts';
import { race } from '../../support/store-processes.ts';
import { differences } from '../../support/store-recompute.ts';
import type { WorkerReport } from '../../support/store-worker-process.ts';

const PROCESSES = 4;
const EXECUTIONS = 4_000;

describe('four processes on one file', () => {
  it('do every execution exactly once, and share the work', async () => {
    using folder = temporaryFolder();
    const path = folder.file('proctor.db');
    const store = openSqliteStore({ path });
    await store.openSession(newSession('wse_0'));
    await store.createRun(newRun('run_1', { cases: EXECUTIONS / 2, repeats: 2, concurrency: PROCESSES * 32 }));
    for (let from = 0; from < EXECUTIONS; from += 500) await store.materialize('run_1', from, planned(from, 500));
    await store.closeSession('wse_0');

    const workers = Array.from({ length: PROCESSES }, (_, index) => [path, `wse_${index + 1}`, 'run_1']);
    const reports = await race<WorkerReport>('./store-worker-process.ts', workers);

    expect(reports.map((report) => report.strange)).toEqual([0, 0, 0, 0]);
    expect(reports.reduce((sum, report) => sum + report.completed, 0)).toBe(EXECUTIONS);
    const rows = await pages<ExecutionRow, ExecutionKey>(
      (page) => store.executions('run_1', page),
      ({ case_id, repeat }) => ({ case_id, repeat }),
      1_000,
    );
    expect(rows.filter((row) => row.status !== 'completed' || row.attempt !== 1)).toEqual([]);
    expect(rows).toHaveLength(EXECUTIONS);
    expect(await store.rowCounts('run_1')).toMatchObject({
      queue: 0,
      attempt: EXECUTIONS,
      result: EXECUTIONS,
      late_evidence: 0,
    });
    expect(plain(await store.invariants())).toEqual([]);
    expect(await differences(store, 'run_1')).toEqual([]);
    const doneBy = Map.groupBy(
      await store.attempts(
        'run_1',
        rows.map((row) => row.ordinal),
      ),
      (row) => row.session_id,
    );
    expect(reports.map(({ session_id, completed }) => [session_id, completed])).toEqual(
      reports.map(({ session_id }) => [session_id, doneBy.get(session_id)?.length]),
    );
    await store.close();

    const fair = EXECUTIONS / PROCESSES / 4;
    expect(reports.filter((report) => report.completed < fair)).toEqual([]);
  });
});
