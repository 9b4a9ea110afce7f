import type {
  ApprovalRow,
  EventRow,
  ExecutionRow,
  GatewayEventRow,
  LateRow,
  RunReaders,
  RunRow,
  ToolRunRow,
} from '../../contract/store.ts';

import { PAGE_ROWS } from './bundle-format.ts';

/** What the rows of a bundle are read from. */
export interface RowSource {
  readonly store: RunReaders;
  readonly run: RunRow;
}

/** A value of a row. */
export type BundleValue = string | number | null;

/** Gets the rows one after another. */
export type TakeRow = (table: string, row: Readonly<Record<string, BundleValue>>) => void;

const PAGE = PAGE_ROWS;
const RUN_NO = 1;

/** Every row that a bundle of the run has, table by table, in one order. */
export async function handRows(source: RowSource, take: TakeRow): Promise<void> {
  await new RowsOfRun(source, take).hand();
}

/** Hands on the rows of a run in the one order that a bundle has. */
class RowsOfRun {
  readonly #source: RowSource;
  readonly #take: TakeRow;
  readonly #sessions = new Map<string, number>();

  constructor(source: RowSource, take: TakeRow) {
    this.#source = source;
    this.#take = take;
  }

  async hand(): Promise<void> {
    const { store, run } = this.#source;
    this.#insert('snapshot', { digest: run.snapshot_digest, body: await store.snapshot(run.snapshot_digest) });
    this.#insert('run', { run_no: RUN_NO, ...run });
    const head = await store.eventHead(run.run_id);
    this.#insert('run_head', { run_no: RUN_NO, event_count: head.count, event_hash: head.hash });
    for (let from = 0; from < run.materialized; from += PAGE)
      await this.#executions(Array.from({ length: Math.min(PAGE, run.materialized - from) }, (_, at) => from + at));
    await this.#paged<EventRow, number>(
      (after) => store.events(run.run_id, { after, limit: PAGE }),
      (event) => this.#insert('event', { ...event, run_no: RUN_NO }),
      (event) => event.seq,
    );
    await this.#paged<LateRow, number>(
      (after) => store.lateEvidence(run.run_id, { after, limit: PAGE }),
      (late) => this.#insert('late_evidence', { run_no: RUN_NO, ...late }),
      (late) => late.late_seq,
    );
    for (const [index, { run_id: _run, ...row }] of (await store.outbox(run.run_id)).entries())
      this.#insert('outbox', { run_no: RUN_NO, ...row, outbox_no: index + 1 });
    await this.#gateway();
    for (const row of await store.corrections(run.run_id)) this.#insert('correction', { run_no: RUN_NO, ...row });
    // What counters say is not proven by anything, so they stay where they were counted.
    for (const { kind, cap, reserve } of await store.budgets(run.run_id))
      this.#insert('budget', { run_no: RUN_NO, kind, cap, reserve });
  }

  async #executions(ordinals: readonly number[]): Promise<void> {
    const { store, run } = this.#source;
    for (const row of await store.executionsAt(run.run_id, ordinals)) this.#execution(row);
    for (const { session_id, ...attempt } of await store.attempts(run.run_id, ordinals))
      this.#insert('attempt', { run_no: RUN_NO, session_no: this.#session(session_id), ...attempt });
    for (const record of await store.evidence(run.run_id, ordinals))
      this.#insert('evidence', { run_no: RUN_NO, ...record });
  }

  #execution(row: ExecutionRow): void {
    const { ordinal, case_id, repeat, case_content, cluster } = row;
    this.#insert('execution', { run_no: RUN_NO, ordinal, case_id, repeat, case_content, cluster });
    if (row.hash === null) return;
    const { attempt, status, fault, passed, aggregate, content, finished_at, hash } = row;
    const result = { run_no: RUN_NO, ordinal, attempt, status, fault, passed, aggregate, content, finished_at, hash };
    this.#insert('result', result);
  }

  /** The calls of gated tools, with their approvals and events. Who carried them out stays here. */
  async #gateway(): Promise<void> {
    const { store, run } = this.#source;
    const head = await store.gatewayHead(run.run_id);
    if (head === null) return;
    this.#insert('gateway_head', { stream: RUN_NO, event_count: head.count, event_hash: head.hash });
    const numbers = new Map<string, number>();
    await this.#paged<ToolRunRow, string>(
      (after) => store.toolRunsIn(run.run_id, { after, limit: PAGE }),
      (row) => {
        const { run_id: _run, approval_id: _approval, edited_into: _into, delivered_at, edited_from, ...columns } = row;
        numbers.set(row.tool_run_id, numbers.size + 1);
        const from = edited_from === null ? null : (numbers.get(edited_from) ?? null);
        const session_no = row.dispatched_at === null ? null : 0;
        this.#insert('tool_run', {
          tool_run_no: numbers.size,
          stream: RUN_NO,
          ...columns,
          edited_from: from,
          session_no,
        });
        if (delivered_at !== null) this.#insert('tool_delivery', { tool_run_no: numbers.size, delivered_at });
      },
      (row) => row.tool_run_id,
    );
    await this.#paged<ApprovalRow, string>(
      (after) => store.approvalsIn(run.run_id, { after, limit: PAGE }),
      ({ tool_run_id, ...row }) => this.#insert('approval', { tool_run_no: numbers.get(tool_run_id) ?? null, ...row }),
      (row) => row.approval_id,
    );
    await this.#paged<GatewayEventRow, number>(
      (after) => store.gatewayEventsIn(run.run_id, { after, limit: PAGE }),
      ({ run_id: _run, tool_run_id, ...row }) =>
        this.#insert('gateway_event', {
          stream: RUN_NO,
          tool_run_no: tool_run_id === null ? null : (numbers.get(tool_run_id) ?? null),
          ...row,
        }),
      (row) => row.seq,
    );
  }

  /** Sessions by id alone: who worked where is nobody's business but the store's. */
  #session(sessionId: string): number {
    const known = this.#sessions.get(sessionId);
    if (known !== undefined) return known;
    const session_no = this.#sessions.size + 1;
    this.#sessions.set(sessionId, session_no);
    const nameless = { worker: '', host: '', boot_id: '', pid: 0, process_start: '', started_at: 0, last_seen_at: 0 };
    this.#insert('worker_session', { session_no, session_id: sessionId, ...nameless });
    return session_no;
  }

  async #paged<Row, Key extends string | number>(
    read: (after: Key | null) => Promise<readonly Row[]>,
    take: (row: Row) => void,
    key: (row: Row) => Key,
  ): Promise<void> {
    for (let after: Key | null = null, last: Row | undefined; ; after = key(last)) {
      const page = await read(after);
      page.forEach(take);
      last = page.at(-1);
      if (last === undefined) return;
    }
  }

  #insert(table: string, row: Readonly<Record<string, unknown>>): void {
    this.#take(table, row as Readonly<Record<string, BundleValue>>);
  }
}
