import type { AttemptRow, EventRow, ExecutionRow, RunReaders, RunRow } from '../../contract/store.ts';
import { eventHash } from '../../core/evidence.ts';
import type { Differences } from './differences.ts';
import { Told } from './told.ts';

const PAGE = 100;

/** What the event chain says of the run as a whole. */
export interface ChainSummary {
  readonly count: number;
  /** The hash before `run_completed`: what the evidence root covers. */
  readonly head_before_completion: string | null;
  readonly told: Told;
}

/** Recomputes the run's event chain, holds every event against the row that it tells of, and the run's row against them all. */
export async function checkEvents(store: RunReaders, run: RunRow, differences: Differences): Promise<ChainSummary> {
  const chain = new Chain(run, differences);
  let after: number | null = 0;
  while (after !== null && !differences.enough) {
    const from: number = after;
    const place = `events of ${run.run_id} after ${from}`;
    const page = await differences.step('event', place, () => store.events(run.run_id, { after: from, limit: PAGE }));
    if (page === null) break;
    const rows = await rowsOf(store, run.run_id, page, differences);
    for (const event of page) chain.add(event, rows);
    after = page.at(-1)?.seq ?? null;
  }
  const head = await differences.step('run_head', run.run_id, () => store.eventHead(run.run_id));
  if (head !== null) {
    differences.same('run_head', run.run_id, 'event_count', chain.count, head.count);
    differences.same('run_head', run.run_id, 'event_hash', chain.previous, head.hash);
  }
  for (const [column, value] of Object.entries(chain.told.run)) {
    differences.same('run', run.run_id, `${column}, by the events`, value, run[column as keyof RunRow]);
  }
  return { count: chain.rows, head_before_completion: chain.headBefore, told: chain.told };
}

class Chain {
  readonly told = new Told();
  /** Events seen, and the number of the last. */
  rows = 0;
  count = 0;
  previous = '';
  headBefore: string | null = null;
  #at = Number.NEGATIVE_INFINITY;
  #position = Number.NEGATIVE_INFINITY;
  readonly #run: RunRow;
  readonly #differences: Differences;

  constructor(run: RunRow, differences: Differences) {
    this.#run = run;
    this.#differences = differences;
  }

  add(event: EventRow, rows: Rows): void {
    const { seq, type, at, ordinal, attempt, body, position } = event;
    const differences = this.#differences;
    const name = nameOf(event, rows);
    differences.same('event', name, 'events are numbered from 1 without a gap', this.count + 1, seq);
    const hash = eventHash(this.previous, { run_id: this.#run.run_id, seq, type, at, ordinal, attempt, body });
    differences.same('event', name, 'the hash chain', hash, event.hash);
    if (at < this.#at) differences.add('event', name, 'instants go backwards', { expected: this.#at, found: at });
    if (position <= this.#position) {
      differences.add('event', name, 'positions go backwards', { expected: this.#position + 1, found: position });
    }
    const told = bodyOf(event, name, differences);
    this.told.add(event, told, name, differences);
    checkAgainstRow(event, told, rows, name, differences);
    if (type === 'run_completed') this.headBefore = this.previous;
    this.previous = event.hash;
    this.rows += 1;
    this.count = seq;
    this.#at = at;
    this.#position = position;
  }
}

interface Rows {
  readonly executions: ReadonlyMap<number, ExecutionRow>;
  readonly attempts: ReadonlyMap<string, AttemptRow>;
}

async function rowsOf(
  store: RunReaders,
  runId: string,
  page: readonly EventRow[],
  differences: Differences,
): Promise<Rows> {
  const ordinals = [...new Set(page.flatMap((event) => event.ordinal ?? []))];
  // What cannot be read is named here and, row by row, by the check of the executions.
  const executions =
    (await differences.step('execution', runId, () => store.executionsAt(runId, ordinals))) ?? ([] as ExecutionRow[]);
  const attempts =
    (await differences.step('attempt', runId, () => store.attempts(runId, ordinals))) ?? ([] as AttemptRow[]);
  return {
    executions: new Map(executions.map((row) => [row.ordinal, row])),
    attempts: new Map(attempts.map((row) => [`${row.ordinal}/${row.attempt}`, row])),
  };
}

function nameOf({ seq, type, ordinal, attempt }: EventRow, rows: Rows): string {
  if (ordinal === null) return `event ${seq} ${type}`;
  const execution = rows.executions.get(ordinal);
  const of = execution === undefined ? `ordinal ${ordinal}` : `case ${execution.case_id} #${execution.repeat}`;
  return `event ${seq} ${type} of ${of}${attempt === null ? '' : ` attempt ${attempt}`}`;
}

function bodyOf({ body }: EventRow, name: string, differences: Differences): Record<string, unknown> {
  if (body === null) return {};
  try {
    const value: unknown = JSON.parse(body);
    if (typeof value === 'object' && value !== null) return value as Record<string, unknown>;
    differences.add('event', name, 'the body is not a JSON object', { found: body });
  } catch (error) {
    differences.fault('event', name, error);
  }
  return {};
}

function checkAgainstRow(
  event: EventRow,
  body: Readonly<Record<string, unknown>>,
  rows: Rows,
  name: string,
  differences: Differences,
): void {
  const attempt = rows.attempts.get(`${event.ordinal}/${event.attempt}`);
  switch (event.type) {
    case 'attempt_started':
      differences.same('attempt', name, 'started_at', event.at, attempt?.started_at);
      return;
    case 'attempt_finished':
      differences.same('attempt', name, 'ended_at', event.at, attempt?.ended_at);
      for (const column of ['status', 'fault', 'reason'] as const) {
        differences.same('attempt', name, column, body[column], attempt?.[column]);
      }
      return;
    case 'attempt_stale':
      differences.same('attempt', name, 'ended_at', event.at, attempt?.ended_at);
      differences.same('attempt', name, 'status', 'stale', attempt?.status);
      return;
    case 'execution_finished': {
      const row = event.ordinal === null ? undefined : rows.executions.get(event.ordinal);
      differences.same('result', name, 'the hash that the event tells of', body['result'], row?.hash);
      differences.same('result', name, 'finished_at', event.at, row?.finished_at);
      return;
    }
    default:
      return;
  }
}
