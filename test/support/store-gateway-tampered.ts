import { DatabaseSync } from 'node:sqlite';
import type { InvariantViolation } from '../../src/contract/store.ts';
import { type GatewayEventRecord, gatewayEventHash } from '../../src/core/gateway.ts';
import { Connection } from '../../src/store/sqlite/connection.ts';
import { invariantViolations } from '../../src/store/sqlite/invariants.ts';

/** An event as a reader of the file sees it. */
export type SeenEvent = GatewayEventRecord & {
  readonly position: number;
  readonly stream: number;
  readonly hash: string;
};

/** A seeded store whose triggers and constraints are gone: what is done to it is looked at, then undone. */
export class TamperedGateway implements Disposable {
  readonly db: DatabaseSync;
  readonly #connection: Connection;

  constructor(file: string) {
    this.db = new DatabaseSync(file, { enableForeignKeyConstraints: false });
    this.db.exec('pragma ignore_check_constraints = on');
    const names = this.db.prepare("select name from sqlite_schema where type = 'trigger'").all() as { name: string }[];
    for (const { name } of names) this.db.exec(`drop trigger ${name}`);
    this.#connection = new Connection(this.db);
  }

  /** What the store finds out of order after `tamper`. */
  found(tamper: (db: DatabaseSync) => void): InvariantViolation[] {
    this.db.exec('begin');
    try {
      tamper(this.db);
      return invariantViolations(this.#connection);
    } finally {
      this.db.exec('rollback');
    }
  }

  /** The events in the order of their streams. */
  events(): SeenEvent[] {
    return this.db
      .prepare(
        `select e.position, e.stream, r.run_id, e.seq, e.type, e.at, t.tool_run_id, e.body, e.hash
from gateway_event e left join run r on r.run_no = e.stream left join tool_run t on t.tool_run_no = e.tool_run_no order by e.stream, e.seq`,
      )
      .all() as unknown as SeenEvent[];
  }

  /** Chains what is there anew, heads and all: what somebody does who has the code. */
  rechain(): void {
    const heads = new Map<number, { count: number; hash: string }>();
    for (const event of this.events()) {
      const head = heads.get(event.stream) ?? { count: 0, hash: '' };
      const next = { ...event, seq: head.count + 1 };
      const hash = gatewayEventHash(head.hash, next);
      this.db
        .prepare('update gateway_event set seq = ?, hash = ? where position = ?')
        .run(next.seq, hash, event.position);
      heads.set(event.stream, { count: next.seq, hash });
    }
    for (const [stream, { count, hash }] of heads)
      this.db
        .prepare('update gateway_head set event_count = ?, event_hash = ? where stream = ?')
        .run(count, hash, stream);
    const positions = this.db.prepare('select position from gateway_event order by position').all();
    positions.forEach((row, index) => {
      this.db
        .prepare('update gateway_event set position = ? where position = ?')
        .run(index + 1, row['position'] as number);
    });
  }

  [Symbol.dispose](): void {
    this.db.close();
  }
}
