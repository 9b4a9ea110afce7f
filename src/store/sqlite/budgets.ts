import type { AttemptSpend, StopRequest } from '../../contract/store.ts';
import { BUDGET_KINDS, type Budget, type BudgetState, reserveOf } from '../../core/budget.ts';
import { canonicalJson } from '../../lib/canonical-json.ts';
import type { Connection } from './connection.ts';
import type { Keys } from './keys.ts';
import type { Transaction } from './transaction.ts';

/** Writes down what a new run may take. */
export function setBudgets(tx: Transaction, runNo: number, budgets: readonly Budget[]): void {
  for (const { kind, cap, reserve } of budgets)
    tx.connection.run('insert into budget (run_no, kind, cap, reserve) values (?, ?, ?, ?)', runNo, kind, cap, reserve);
}

/** The budgets of a run as they stand in this transaction; most runs have none. */
export function budgetsIn(tx: Transaction, runNo: number): BudgetState[] {
  return rows(tx.connection, runNo).map((row) => ({ ...row, spent: tx.stat(runNo, row.kind) }));
}

/** The budgets of a run. */
export function budgets(connection: Connection, keys: Keys, runId: string): BudgetState[] {
  const runNo = keys.run(runId);
  return rows(connection, runNo).map((row) => ({ ...row, spent: statOf(connection, runNo, row.kind) }));
}

function rows(connection: Connection, runNo: number): Omit<BudgetState, 'spent'>[] {
  return connection.all<Omit<BudgetState, 'spent'> & Record<string, unknown>>(
    'select kind, cap, reserve, highest, answers from budget where run_no = ? order by kind',
    runNo,
  );
}

function statOf(connection: Connection, runNo: number, kind: string): number {
  return connection.get<{ n: number }>('select n from run_stat where run_no = ? and kind = ?', runNo, kind)?.n ?? 0;
}

/**
 * Adds what an attempt took to what its run has spent. What nobody tells is counted as what was held back for it: a budget that is blind to
 * an answer without usage never fires.
 */
export function charge(tx: Transaction, keys: Keys, runNo: number, spend: AttemptSpend): void {
  const states = keys.budgeted(runNo) ? rows(tx.connection, runNo) : [];
  for (const kind of BUDGET_KINDS) {
    const state = states.find((row) => row.kind === kind);
    const asked = spend.agent === null ? 0 : spend.agent[kind];
    const graded = spend.evaluators[kind];
    const taken = asked === null && state !== undefined ? Math.max(graded, reserveOf(state)) : (asked ?? 0) + graded;
    if (taken > 0) tx.count(runNo, kind, taken);
    if (state !== undefined && spend.agent !== null && asked !== null)
      tx.connection.run(
        'update budget set highest = max(highest, ?), answers = answers + 1 where run_no = ? and kind = ?',
        taken,
        runNo,
        kind,
      );
  }
}

/** An attempt was lost: nobody knows what it took, so what was held back for it counts. */
export function chargeLost(tx: Transaction, runNo: number): void {
  for (const state of rows(tx.connection, runNo)) {
    const reserve = reserveOf(state);
    if (reserve > 0) tx.count(runNo, state.kind, reserve);
  }
}

/** Records that a run stops before its plan is through; what is in flight may end, nothing else is begun. False when it cannot stop any more. */
export function stopRun(tx: Transaction, keys: Keys, runId: string, { reason, after }: StopRequest): boolean {
  const runNo = keys.run(runId);
  const changed = tx.connection.run(
    "update run set stop_reason = ?, stop_after = ? where run_no = ? and status = 'running' and stop_reason is null and cancel_requested_at is null",
    reason,
    after,
    runNo,
  );
  if (changed === 1)
    tx.event({ run_no: runNo, run_id: runId, type: 'run_stopped', body: canonicalJson({ after, reason }) });
  return changed === 1;
}
