import type { EventRow, RunRow } from '../../contract/store.ts';
import type { Differences } from './differences.ts';
import { whyMisplaced } from './event-order.ts';

/** What `run_created` carries, by column of the run. */
const CREATED_WITH = [
  'run_key',
  'snapshot_digest',
  'plan_digest',
  'cases',
  'repeats',
  'total',
  'concurrency',
  'base_dir',
  'created_by',
] as const;

type RunColumns = Partial<Record<keyof RunRow, unknown>>;

/** A stop by the breaker that is said to stand in the outbox. */
export interface PublishedStop {
  readonly seq: number;
  readonly at: number;
  readonly outbox: unknown;
  readonly body: Readonly<Record<string, unknown>>;
}

/** What a run's events tell, folded: its own row, how far each execution came, and the late evidence. */
export class Told {
  /** The columns of the run as they follow from its events. */
  readonly run: RunColumns = {
    status: 'pending',
    gate_status: 'unknown',
    created_at: null,
    started_at: null,
    finished_at: null,
    cancel_requested_at: null,
    reason: null,
    content_digest: null,
    evidence_root: null,
    stop_reason: null,
    stop_after: null,
  };
  /** True when the run's end is said to stand in the outbox (ends of the first schema were published only when they completed). */
  published = false;
  /** What is said to stand in the outbox of stops, in their order (those of older stores were not published). */
  readonly stops: PublishedStop[] = [];
  /** Hash of each late evidence row by its number. */
  readonly late = new Map<unknown, unknown>();
  /** How far the run's tool calls went when it was finalized. */
  gateway: { readonly count: number; readonly hash: string } | null = null;
  /** Hash of each correction by its revision. */
  readonly corrections = new Map<unknown, unknown>();
  #any = false;
  // By ordinal, as plain numbers: a million executions are some megabytes.
  readonly #started: number[] = [];
  readonly #ended: number[] = [];
  readonly #finished: number[] = [];
  readonly #suspended = new Set<number>();

  /** Attempts of an execution that started. */
  started(ordinal: number): number {
    return this.#started[ordinal] ?? 0;
  }

  /** Attempts of an execution that ended. */
  ended(ordinal: number): number {
    return this.#ended[ordinal] ?? 0;
  }

  /** How often an execution finished. */
  finished(ordinal: number): number {
    return this.#finished[ordinal] ?? 0;
  }

  /** The status of an attempt that has not ended. */
  openStatus(ordinal: number): 'running' | 'suspended' {
    return this.#suspended.has(ordinal) ? 'suspended' : 'running';
  }

  /** Takes the next event in; names one that cannot follow what was told before. */
  add(event: EventRow, body: Readonly<Record<string, unknown>>, name: string, differences: Differences): void {
    const why = whyMisplaced(event, this.run, this.#any);
    if (why !== null) differences.add('event', name, why);
    this.#any = true;
    if (event.type.startsWith('run_')) Object.assign(this.run, runColumns(event, body));
    const { outbox, ...stop } = body;
    if (event.type !== 'run_paused') this.published ||= event.type === 'run_completed' || typeof outbox === 'string';
    else if (outbox !== undefined) this.stops.push({ seq: event.seq, at: event.at, outbox, body: stop });
    if (event.type === 'late_evidence') tellOnce(this.late, body['late_seq'], body['late'], name, differences);
    if (event.type === 'gateway_sealed') this.gateway = { count: Number(body['count']), hash: String(body['hash']) };
    if (event.type === 'grade_corrected')
      tellOnce(this.corrections, body['revision'], body['correction'], name, differences);
    const { ordinal, attempt } = event;
    if (ordinal === null) return;
    switch (event.type) {
      case 'attempt_started':
        differences.same('event', name, 'the attempt before has ended', attempt, this.ended(ordinal) + 1);
        this.#started[ordinal] = attempt ?? 0;
        return;
      case 'attempt_suspended':
        differences.same('event', name, 'it suspends the attempt that started last', attempt, this.started(ordinal));
        differences.same('event', name, 'the attempt has not ended', this.started(ordinal) - 1, this.ended(ordinal));
        this.#suspended.add(ordinal);
        return;
      case 'attempt_finished':
      case 'attempt_stale':
        differences.same('event', name, 'it ends the attempt that started last', attempt, this.started(ordinal));
        this.#ended[ordinal] = attempt ?? 0;
        this.#suspended.delete(ordinal);
        return;
      case 'execution_finished':
        differences.same('event', name, 'it is by the attempt that started last', attempt ?? 0, this.started(ordinal));
        this.#ended[ordinal] = this.started(ordinal);
        this.#finished[ordinal] = this.finished(ordinal) + 1;
        return;
      default:
        return;
    }
  }
}

function tellOnce(
  told: Map<unknown, unknown>,
  key: unknown,
  hash: unknown,
  name: string,
  differences: Differences,
): void {
  if (told.has(key)) differences.add('event', name, 'an event before it tells of the same row', { found: key });
  told.set(key, hash);
}

function runColumns({ type, at }: EventRow, body: Readonly<Record<string, unknown>>): RunColumns {
  switch (type) {
    case 'run_created':
      return { ...Object.fromEntries(CREATED_WITH.map((column) => [column, body[column]])), created_at: at };
    case 'run_started':
      return { status: 'running', started_at: at };
    case 'run_cancel_requested':
      return { cancel_requested_at: at, reason: body['reason'] };
    case 'run_stopped':
      return { stop_reason: body['reason'], stop_after: body['after'] };
    case 'run_finalizing':
      return { status: 'finalizing' };
    case 'run_cancelled':
      return { status: 'cancelled', finished_at: at };
    case 'run_failed':
      return { status: 'failed', finished_at: at, reason: body['reason'] };
    case 'run_completed': {
      const { gate_status, content_digest, evidence_root } = body;
      return { status: 'completed', finished_at: at, gate_status, content_digest, evidence_root };
    }
    default:
      return {};
  }
}
