import { appendFileSync } from 'node:fs';
import { openSqliteStore } from '../../src/store/sqlite/store.ts';
import { newSession } from './store-fixture.ts';
import { decideBy, endOf, requestBy } from './store-gateway.ts';

/** What a gateway process tells its parent: how many approvals it used, and how many it found used by another. */
export interface GatewayReport {
  readonly session_id: string;
  readonly made: number;
  readonly lost: number;
}

/**
 * A gateway that uses every approval it finds and then does what the call asks for, a line in a file; it kills itself right after
 * the effect of call number DIES, before the outcome is recorded: `node FILE STORE SESSION EFFECTS DIES`.
 */
async function work([path = '', session_id = '', effects = '', dies = '']: readonly string[]): Promise<void> {
  const store = openSqliteStore({ path });
  await store.openSession({ ...newSession(session_id), role: 'gateway' });
  const go = new Promise((resolve) => process.once('message', resolve));
  process.send?.('ready');
  await go;
  const report = { session_id, made: 0, lost: 0 };
  for (;;) {
    const open = await store.approvals(true, { after: null, limit: 40 });
    if (open.length === 0) break;
    const use = async (tool_run_id: string) => {
      if (!(await store.consumeApproval(tool_run_id, requestBy(decideBy('ask'), { session_id })))) {
        report.lost += 1;
        return;
      }
      report.made += 1;
      const last = report.made === Number(dies);
      appendFileSync(effects, `${tool_run_id}\n`);
      if (last) await new Promise(() => process.send?.(report, () => process.kill(process.pid, 'SIGKILL')));
      await store.finishToolRun(endOf(tool_run_id, { session_id }));
    };
    // A few at a time, so that no process takes them all in one transaction.
    const some = open.filter(() => Math.random() < 0.2);
    await Promise.all(some.map((approval) => use(approval.tool_run_id)));
  }
  await store.closeSession(session_id);
  await store.close();
  process.send?.(report);
  process.disconnect();
}

await work(process.argv.slice(2));
