import { eventHash } from '../../core/evidence.ts';
import { gatewayEventHash } from '../../core/gateway.ts';
import type { Connection } from './connection.ts';
import type { Moment } from './schedule.ts';

/** What one event says, before the transaction numbers and chains it. */
export interface NewEvent {
  readonly run_no: number;
  readonly run_id: string;
  readonly type: string;
  readonly ordinal?: number;
  readonly attempt?: number;
  readonly body?: string;
}

/** What one event of the gateway says; `run_id` is the run of its stream, null outside of runs (stream 0). */
export interface NewGatewayEvent {
  readonly stream: number;
  readonly run_id: string | null;
  readonly type: string;
  readonly tool_run_no: number | null;
  readonly tool_run_id: string | null;
  readonly body: string;
}

interface Head {
  count: number;
  hash: string;
}

/**
 * One write transaction: its instant, the heads of the event chains it extends and the counters it moves. Heads and counters
 * are written once, at the end, however many events the transaction has.
 */
export class Transaction {
  /** The instant that is recorded. */
  readonly now: number;
  /** What leases, retries and deliveries wait for: it goes on with real time whatever the wall clock does. */
  readonly schedule: number;
  readonly connection: Connection;
  readonly #heads = new Map<number, Head>();
  readonly #gatewayHeads = new Map<number, Head>();
  readonly #stats = new Map<string, { run_no: number; kind: string; n: number }>();

  constructor(connection: Connection, { now, schedule }: Moment) {
    this.connection = connection;
    this.now = now;
    this.schedule = schedule;
  }

  /** Appends an event to its run's chain; answers its hash. */
  event(event: NewEvent): string {
    const head = this.head(event.run_no);
    const { run_no, run_id, type, ordinal = null, attempt = null, body = null } = event;
    const seq = head.count + 1;
    const hash = eventHash(head.hash, { run_id, seq, type, at: this.now, ordinal, attempt, body });
    this.connection.run(
      'insert or fail into event (run_no, seq, type, at, ordinal, attempt, body, hash) values (?, ?, ?, ?, ?, ?, ?, ?)',
      run_no,
      seq,
      type,
      this.now,
      ordinal,
      attempt,
      body,
      hash,
    );
    head.count = seq;
    head.hash = hash;
    return hash;
  }

  /** Appends an event to its stream of the gateway. */
  gatewayEvent(event: NewGatewayEvent): void {
    const { stream, run_id, type, tool_run_no, tool_run_id, body } = event;
    let head = this.#gatewayHeads.get(stream);
    if (head === undefined) {
      const row = this.connection.get<{ event_count: number; event_hash: string }>(
        'select event_count, event_hash from gateway_head where stream = ?',
        stream,
      );
      head = { count: row?.event_count ?? 0, hash: row?.event_hash ?? '' };
      this.#gatewayHeads.set(stream, head);
    }
    const seq = head.count + 1;
    const hash = gatewayEventHash(head.hash, { run_id, seq, type, at: this.now, tool_run_id, body });
    this.connection.run(
      'insert or fail into gateway_event (stream, seq, type, at, tool_run_no, body, hash) values (?, ?, ?, ?, ?, ?, ?)',
      stream,
      seq,
      type,
      this.now,
      tool_run_no,
      body,
      hash,
    );
    head.count = seq;
    head.hash = hash;
  }

  /** Notes a point on the schedule for a row that says the same by the wall clock. */
  mark(what: 'approval_end', rowNo: number, at: number): void {
    this.connection.run('insert into schedule_mark (what, row_no, at) values (?, ?, ?)', what, rowNo, at);
  }

  /** The head of a run's event chain, with what this transaction added. */
  head(runNo: number): Head {
    let head = this.#heads.get(runNo);
    if (head === undefined) {
      const row = this.connection.get<{ event_count: number; event_hash: string }>(
        'select event_count, event_hash from run_head where run_no = ?',
        runNo,
      );
      head = { count: row?.event_count ?? 0, hash: row?.event_hash ?? '' };
      this.#heads.set(runNo, head);
    }
    return head;
  }

  /** A counter of a run, with what this transaction moved it by. */
  stat(runNo: number, kind: string): number {
    const row = this.connection.get<{ n: number }>('select n from run_stat where run_no = ? and kind = ?', runNo, kind);
    return (row?.n ?? 0) + (this.#stats.get(`${runNo} ${kind}`)?.n ?? 0);
  }

  /** Moves a counter of a run by `n`. */
  count(runNo: number, kind: string, n: number): void {
    const key = `${runNo} ${kind}`;
    const entry = this.#stats.get(key);
    if (entry === undefined) this.#stats.set(key, { run_no: runNo, kind, n });
    else entry.n += n;
  }

  /** Writes heads and counters; the writer calls it before the commit. */
  flush(): void {
    for (const [runNo, head] of this.#heads) {
      this.connection.run(
        'update run_head set event_count = ?1, event_hash = ?2 where run_no = ?3 and event_count < ?1',
        head.count,
        head.hash,
        runNo,
      );
    }
    for (const [stream, head] of this.#gatewayHeads) {
      const { count, hash } = head;
      const moved = this.connection.run(
        'update gateway_head set event_count = ?1, event_hash = ?2 where stream = ?3 and event_count < ?1',
        count,
        hash,
        stream,
      );
      if (moved === 0)
        this.connection.run(
          'insert into gateway_head (stream, event_count, event_hash) values (?, ?, ?)',
          stream,
          count,
          hash,
        );
    }
    for (const { run_no, kind, n } of this.#stats.values()) {
      if (n !== 0)
        this.connection.run(
          'insert into run_stat (run_no, kind, n) values (?, ?, ?) on conflict (run_no, kind) do update set n = n + excluded.n',
          run_no,
          kind,
          n,
        );
    }
  }
}
