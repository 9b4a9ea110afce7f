import { describe, expect, it } from 'vitest';
import type { ExecutionKey, ExecutionRow } from '../../../src/contract/store.ts';
import { openSqliteStore } from '../../../src/store/sqlite/store.ts';
import { newRun, newSession, pages, plain, planned, temporaryFolder } from '../../support/store-fixture.ts';
import { race } from '../../support/store-processes.ts';
import { differences } from '../../support/store-recompute.ts';
import type { WorkerReport } from '../../support/store-worker-process.ts';

const PROCESSES = 4;
const EXECUTIONS = 4_000;
const LEASE_MS = 30_000;

describe('four processes on one file', () => {
  it('do every execution exactly once, share the work, and never hold each other or their event loops up for long', async ({
    annotate,
  }) => {
    using folder = temporaryFolder();
    const path = folder.file('proctor.db');
    const store = openSqliteStore({ path });
    await store.openSession(newSession('wse_0'));
    await store.createRun(newRun('run_1', { cases: EXECUTIONS / 2, repeats: 2, concurrency: PROCESSES * 32 }));
    for (let from = 0; from < EXECUTIONS; from += 500) await store.materialize('run_1', from, planned(from, 500));
    await store.closeSession('wse_0');

    const workers = Array.from({ length: PROCESSES }, (_, index) => [path, `wse_${index + 1}`, 'run_1']);
    const reports = await race<WorkerReport>('./store-worker-process.ts', workers);
    const most = (of: keyof Omit<WorkerReport, 'session_id'>) => Math.max(...reports.map((report) => report[of]));
    await annotate(
      `longest wait ${most('longest_wait_ms').toFixed(0)} ms, event loop held ${most('blocked_ms').toFixed(0)} ms, shares ${reports.map((report) => report.completed).join(' / ')}`,
    );

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
    expect(most('longest_wait_ms')).toBeLessThan(LEASE_MS / 3);
    // What must not happen is SQLite's own wait for the lock, 5 s in the thread; a flush of a busy disk was seen to take half a second.
    expect(most('blocked_ms')).toBeLessThan(1_500);
  });
});
