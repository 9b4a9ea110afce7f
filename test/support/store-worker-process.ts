import { readFileSync } from 'node:fs';
import { openSqliteStore } from '../../src/store/sqlite/store.ts';
import { completion, newSession } from './store-fixture.ts';

/** What a worker process tells its parent when nothing is left to do. */
export interface WorkerReport {
  readonly session_id: string;
  readonly completed: number;
  /** Answers other than `written`. */
  readonly strange: number;
  readonly longest_wait_ms: number;
  readonly commits: number;
  readonly busy: number;
  /** Longest time for which the event loop was held, ms, less what the process waited for a processor meanwhile. */
  readonly blocked_ms: number;
}

/** A process that claims and completes with an agent that answers at once: `node FILE STORE SESSION RUN`. */
async function work([path = '', session_id = '', runId = '']: readonly string[]): Promise<WorkerReport> {
  const store = openSqliteStore({ path });
  await store.openSession(newSession(session_id));
  const go = new Promise((resolve) => process.once('message', resolve));
  process.send?.('ready');
  await go;
  const blocked = watchEventLoop();
  let completed = 0;
  let strange = 0;
  for (;;) {
    const request = { session_id, run_ids: [runId], capacity: 32, lease_ms: 30_000, ahead: 0, max_losses: 5 };
    const claims = await store.claim(request);
    const answers = await Promise.all(claims.map((claim) => store.complete(completion(claim, { reason: session_id }))));
    completed += answers.filter((answer) => answer === 'written').length;
    strange += answers.filter((answer) => answer !== 'written').length;
    const { pending, retry_scheduled } = await store.progress(runId);
    if (pending + retry_scheduled === 0) break;
  }
  const blocked_ms = blocked();
  const { longest_wait_ms, commits, busy } = store.statistics;
  await store.closeSession(session_id);
  await store.close();
  return { session_id, completed, strange, longest_wait_ms, commits, busy, blocked_ms };
}

/** Watches how late a timer comes; answers the worst on a call, which ends the watch. */
function watchEventLoop(): () => number {
  let last = performance.now();
  let waited = waitedForProcessor();
  let worst = 0;
  const look = () => {
    const now = performance.now();
    const waiting = waitedForProcessor();
    worst = Math.max(worst, now - last - TICK_MS - (waiting - waited));
    last = now;
    waited = waiting;
  };
  const timer = setInterval(look, TICK_MS);
  return () => {
    clearInterval(timer);
    look();
    return worst;
  };
}

/** How long this thread was ready to run and got no processor, ms; 0 where the system does not tell. */
function waitedForProcessor(): number {
  if (process.platform !== 'linux') return 0;
  return Number(readFileSync('/proc/self/schedstat', 'utf8').split(' ')[1]) / 1e6;
}

const TICK_MS = 5;
const report = await work(process.argv.slice(2));
process.send?.(report);
process.disconnect();
