import type { AttemptSpend, BudgetKind, BudgetState, StopRequest } from '../../contract/store.ts';
import { BUDGET_KINDS, type Budget } from '../../core/budget.ts';
import { canonicalJson } from '../../lib/canonical-json.ts';
import type { Connection } from './connection.ts';
import type { Keys } from './keys.ts';
import type { LatePlace } from './late.ts';
import type { Transaction } from './transaction.ts';

/** Writes down what a new run may take. */
export function setBudgets(tx: Transaction, runNo: number, budgets: readonly Budget[]): void {
  for (const { kind, cap, reserve } of budgets)
    tx.connection.run('insert into budget (run_no, kind, cap, reserve) values (?, ?, ?, ?)', runNo, kind, cap, reserve);
}

/** The budgets of a run as they stand in this transaction; most runs have none. */
export function budgetsIn(tx: Transaction, runNo: number): BudgetState[] {
  return states(tx.connection, runNo, (kind) => tx.stat(runNo, kind));
}

/** The budgets of a run. */
export function budgets(connection: Connection, keys: Keys, runId: string): BudgetState[] {
  const runNo = keys.run(runId);
  return states(
    connection,
    runNo,
    (kind) =>
      connection.get<{ n: number }>('select n from run_stat where run_no = ? and kind = ?', runNo, kind)?.n ?? 0,
  );
}

function states(connection: Connection, runNo: number, stat: (kind: string) => number): BudgetState[] {
  const rows = connection.all<Omit<BudgetState, 'known' | 'untold' | 'waived'> & Record<string, unknown>>(
    'select kind, cap, reserve, highest, answers from budget where run_no = ? order by kind',
    runNo,
  );
  return rows.map((row) => ({
    ...row,
    known: stat(row.kind),
    untold: stat(`untold_${row.kind}`),
    waived: stat(`waived_${row.kind}`),
  }));
}

/** How an attempt moved the counters of its run, by counter; its event carries it, so that the counters follow from events. */
export type Took = Readonly<Record<string, number>>;

/** The body of an event with what its attempt took, where it took anything. */
export function withTook(body: Readonly<Record<string, unknown>>, took: Took | undefined): string {
  return canonicalJson(took === undefined || Object.keys(took).length === 0 ? body : { ...body, took });
}

/** Moves counters of a run, and keeps by how much. */
class Account {
  readonly took: Record<string, number> = {};
  readonly #tx: Transaction;
  readonly #runNo: number;

  constructor(tx: Transaction, runNo: number) {
    this.#tx = tx;
    this.#runNo = runNo;
  }

  move(counter: string, n: number): void {
    this.#tx.count(this.#runNo, counter, n);
    this.note(counter, n);
  }

  note(counter: string, n: number): void {
    this.took[counter] = (this.took[counter] ?? 0) + n;
  }
}

/**
 * Adds what an attempt took to what its run has spent. An attempt that does not tell is counted by itself: a budget that is blind to it
 * never fires, so it stands for the reserve (`assumedOf`) until late evidence tells.
 */
export function charge(tx: Transaction, keys: Keys, runNo: number, spend: AttemptSpend | undefined): Took {
  const account = new Account(tx, runNo);
  if (spend !== undefined) chargeTo(account, tx, keys, runNo, spend);
  return account.took;
}

function chargeTo(account: Account, tx: Transaction, keys: Keys, runNo: number, spend: AttemptSpend): void {
  const budgeted = keys.budgeted(runNo) ? budgetKinds(tx, runNo) : [];
  for (const kind of BUDGET_KINDS) {
    const asked = spend.agent === null ? 0 : spend.agent[kind];
    const taken = (asked ?? 0) + spend.evaluators[kind];
    if (taken > 0) account.move(kind, taken);
    if (!budgeted.includes(kind)) continue;
    if (asked === null) {
      account.move(`untold_${kind}`, 1);
      if (spend.waived) account.move(`waived_${kind}`, 1);
    } else if (spend.agent !== null) {
      account.note(`answers_${kind}`, 1);
      tx.connection.run(
        'update budget set highest = max(highest, ?), answers = answers + 1 where run_no = ? and kind = ?',
        taken,
        runNo,
        kind,
      );
    }
  }
}

/** An attempt was lost: nobody knows what it took. */
export function chargeLost(tx: Transaction, runNo: number): Took {
  const account = new Account(tx, runNo);
  for (const kind of budgetKinds(tx, runNo)) account.move(`untold_${kind}`, 1);
  return account.took;
}

/** The holder of a lost lease tells after all: what it says stands in place of what was assumed, once for each attempt. */
export function chargeLate(tx: Transaction, keys: Keys, at: LatePlace, spend: AttemptSpend | undefined): Took {
  const { connection } = tx;
  const key = [at.run_no, at.ordinal, at.attempt] as const;
  const lost = connection.get(
    "select 1 from attempt where run_no = ? and ordinal = ? and attempt = ? and lease_id = ? and status = 'stale'",
    ...key,
    at.lease_id,
  );
  const told = connection.get(
    "select 1 from late_evidence where run_no = ? and ordinal = ? and attempt = ? and verb in ('complete', 'fail')",
    ...key,
  );
  const account = new Account(tx, at.run_no);
  if (lost === undefined || told !== undefined) return account.took;
  for (const kind of budgetKinds(tx, at.run_no)) account.move(`untold_${kind}`, -1);
  if (spend !== undefined) chargeTo(account, tx, keys, at.run_no, spend);
  return account.took;
}

function budgetKinds({ connection }: Transaction, runNo: number): BudgetKind[] {
  return connection
    .all<{ kind: BudgetKind }>('select kind from budget where run_no = ?', runNo)
    .map(({ kind }) => kind);
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
