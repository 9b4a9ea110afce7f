import path from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { openSqliteStore } from '../../src/store/sqlite/store.ts';
import { newRun, newSession, planned } from '../../test/support/store-fixture.ts';
import { race } from '../../test/support/store-processes.ts';
import type { WorkerReport } from '../../test/support/store-worker-process.ts';
import { type Figure, type Row, shown } from '../row.ts';

const PROCESSES = 4;
const LEASE_MS = 30_000; // the default

/** How long processes that share one file hold each other and their event loops up. */
export const sharing: Row = {
  name: 'sharing',
  title: 'four processes on one file: their longest wait, and how long their event loops were held',
  async measure({ folder, quick }) {
    const executions = quick ? 4_000 : 16_000;
    const reports = await worked(path.join(folder, 'shared.db'), executions);
    const most = (of: 'longest_wait_ms' | 'blocked_ms') => Math.max(...reports.map((report) => report[of]));
    const delay = await delayUnderLock(path.join(folder, 'locked.db'));
    return {
      figures: [
        bound('the longest wait of a write', LEASE_MS / 3, most('longest_wait_ms')),
        // What must not happen is SQLite's own wait for the lock, 5 s in the thread; a flush of a busy disk was seen to take half a second.
        bound('the longest hold of an event loop', 1_500, most('blocked_ms')),
        bound('the event loop while another process holds the lock', 250, delay),
      ],
      details: { executions, reports, delay },
    };
  },
};

async function worked(file: string, executions: number): Promise<WorkerReport[]> {
  const store = openSqliteStore({ path: file });
  await store.openSession(newSession('wse_0'));
  await store.createRun(newRun('run_1', { cases: executions / 2, repeats: 2, concurrency: PROCESSES * 32 }));
  for (let from = 0; from < executions; from += 500) await store.materialize('run_1', from, planned(from, 500));
  await store.closeSession('wse_0');
  await store.close();
  const workers = Array.from({ length: PROCESSES }, (_, index) => [file, `wse_${index + 1}`, 'run_1']);
  return await race<WorkerReport>('./store-worker-process.ts', workers);
}

async function delayUnderLock(file: string): Promise<number> {
  const store = openSqliteStore({ path: file });
  const other = new DatabaseSync(file);
  other.exec('begin immediate');
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const write = store.openSession(newSession('wse_1'));
  await sleep(1_000);
  delay.disable(); // the flush that follows is the disk's time
  other.exec('rollback');
  other.close();
  await write;
  await store.close();
  return delay.max / 1e6;
}

function bound(figure: string, bar: number, measured: number): Figure {
  return { figure, bar: `≤ ${shown(bar)} ms`, measured: `${shown(measured)} ms`, beside: '', met: measured <= bar };
}
