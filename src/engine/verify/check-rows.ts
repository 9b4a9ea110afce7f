import type { ArtifactStore } from '../../contract/artifact.ts';
import type { Snapshot } from '../../contract/snapshot.ts';
import type { ExecutionRow, RowCounts, RunReaders, RunRow } from '../../contract/store.ts';
import { checkExecution } from './check-execution.ts';
import { CheckedPlan } from './checked-plan.ts';
import type { Differences } from './differences.ts';
import { readBodies } from './read-bodies.ts';
import type { Told } from './told.ts';

/** How many rows were checked. */
export interface CheckedRows {
  executions: number;
  attempts: number;
  evidence: number;
  results: number;
}

interface RowsInput {
  readonly run: RunRow;
  /** Null when it cannot be read: then chains, seals and events are checked alone. */
  readonly snapshot: Snapshot | null;
  readonly counts: RowCounts;
  readonly told: Told;
}

type Deps = { readonly store: RunReaders; readonly artifacts: ArtifactStore };

const PAGE = 100; // bodies of 16 KiB each, several an execution, are held together

/** Checks every materialized execution, in plan order, which reads each chunk of the plan once. */
export async function checkRows(deps: Deps, input: RowsInput, differences: Differences): Promise<CheckedRows> {
  const { run, snapshot, counts } = input;
  const checked: CheckedRows = { executions: 0, attempts: 0, evidence: 0, results: 0 };
  const plan = snapshot === null ? null : await CheckedPlan.read(deps.artifacts, snapshot, differences);
  const planned = plan?.executions ?? Number.POSITIVE_INFINITY;
  const extent = Math.min(planned, Math.max(run.materialized, counts.execution));
  for (let from = 0; from < extent && !differences.enough; from += PAGE) {
    const ordinals = Array.from({ length: Math.min(PAGE, extent - from) }, (_, index) => from + index);
    const rows = await checkPage(deps, input, plan, ordinals, checked, differences);
    if (rows === 0) break; // named one by one; a made-up number of executions is not counted to its end
    await new Promise<void>((resolve) => setImmediate(resolve)); // a page is some ms of work; other work goes between
  }
  return checked;
}

async function checkPage(
  { store, artifacts }: Deps,
  { run, snapshot, told }: RowsInput,
  plan: CheckedPlan | null,
  ordinals: readonly number[],
  checked: CheckedRows,
  differences: Differences,
): Promise<number> {
  const { run_id } = run;
  const read = <Row>(table: string, query: (some: readonly number[]) => Promise<Row[]>) =>
    readable(ordinals, query, (ordinal, error) => differences.fault(table, `ordinal ${ordinal}`, error));
  const executions = await read('execution', (some) => store.executionsAt(run_id, some));
  const attempts = Map.groupBy(await read('attempt', (some) => store.attempts(run_id, some)), (row) => row.ordinal);
  const evidence = Map.groupBy(await read('evidence', (some) => store.evidence(run_id, some)), (row) => row.ordinal);
  const regraded = snapshot?.regrade_of != null;
  const gated = snapshot?.gateway != null && !regraded;
  const made = gated ? await read('tool_run', (some) => store.toolRunsAt(run_id, some)) : [];
  const calls = Map.groupBy(made, (row) => row.ordinal ?? -1);
  const byOrdinal = new Map(executions.map((row) => [row.ordinal, row]));
  for (const ordinal of ordinals) {
    const planned = (await plan?.at(ordinal)) ?? null;
    const row = byOrdinal.get(ordinal);
    if (row === undefined) {
      const named = planned === null ? '' : ` (case ${planned.case.id} #${planned.repeat})`;
      differences.add('execution', `ordinal ${ordinal}${named}`, 'the execution is missing');
      continue;
    }
    const own = { attempts: attempts.get(ordinal) ?? [], evidence: evidence.get(ordinal) ?? [] };
    checked.executions += 1;
    checked.attempts += own.attempts.length;
    checked.evidence += own.evidence.length;
    if (row.hash !== null) checked.results += 1;
    const name = nameOf(row);
    const bodies = await readBodies(artifacts, own.evidence, name, differences);
    const asked = regraded ? null : (calls.get(ordinal) ?? []);
    const whole = { run_id, snapshot, row, planned, ...own, calls: asked, bodies, told };
    await differences.step('evidence', name, () => checkExecution(whole, name, differences));
  }
  return executions.length;
}

/** Rows of the ordinals; where the store cannot give them, those of ever fewer, so that the one that fails is named. */
async function readable<Row>(
  ordinals: readonly number[],
  query: (some: readonly number[]) => Promise<Row[]>,
  failed: (ordinal: number, error: unknown) => void,
): Promise<Row[]> {
  try {
    return await query(ordinals);
  } catch (error) {
    const half = ordinals.length >> 1;
    if (half === 0) {
      failed(ordinals[0] ?? 0, error);
      return [];
    }
    const first = await readable(ordinals.slice(0, half), query, failed);
    return [...first, ...(await readable(ordinals.slice(half), query, failed))];
  }
}

/** How an execution is called in what verify says. */
export function nameOf({ case_id, repeat }: Pick<ExecutionRow, 'case_id' | 'repeat'>): string {
  return `case ${case_id} #${repeat}`;
}
