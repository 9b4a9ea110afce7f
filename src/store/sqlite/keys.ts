import { ProctorError } from '../../contract/problem.ts';
import type { Connection } from './connection.ts';

/** Dense integer keys behind run and session ids; once committed they never change, so they are remembered. */
export class Keys {
  readonly #connection: Connection;
  readonly #runs = new Map<string, number>();
  readonly #sessionIds = new Map<number, string>();
  readonly #sessions = new Map<string, number>();
  readonly #budgeted = new Map<number, boolean>();
  readonly #worked = new Set<string>();

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Forgets all: a key that was read in a transaction that was rolled back may belong to another row now. */
  forget(): void {
    this.#runs.clear();
    this.#sessions.clear();
    this.#sessionIds.clear();
    this.#budgeted.clear();
    this.#worked.clear();
  }

  run(runId: string): number {
    const known = this.#runs.get(runId);
    if (known !== undefined) return known;
    const row = this.#connection.get<{ run_no: number }>('select run_no from run where run_id = ?', runId);
    if (row === undefined)
      throw new ProctorError('not_found', `there is no run \`${runId}\` in this store; \`proctor runs\` lists them`);
    this.#runs.set(runId, row.run_no);
    return row.run_no;
  }

  /** Whether a run has budgets, which it gets when it is created or never. */
  budgeted(runNo: number): boolean {
    const known = this.#budgeted.get(runNo);
    if (known !== undefined) return known;
    const found = this.#connection.get('select 1 from budget where run_no = ? limit 1', runNo) !== undefined;
    this.#budgeted.set(runNo, found);
    return found;
  }

  /** Whether a call of the run is known to have worked on that side, which never changes again. */
  worked(runNo: number, side: string): boolean {
    return this.#worked.has(`${runNo} ${side}`);
  }

  hasWorked(runNo: number, side: string): void {
    this.#worked.add(`${runNo} ${side}`);
  }

  /** The id of a session by its number; '' when there is none. */
  sessionId(sessionNo: number): string {
    const known = this.#sessionIds.get(sessionNo);
    if (known !== undefined) return known;
    const row = this.#connection.get<{ session_id: string }>(
      'select session_id from worker_session where session_no = ?',
      sessionNo,
    );
    if (row === undefined) return '';
    this.#sessionIds.set(sessionNo, row.session_id);
    return row.session_id;
  }

  session(sessionId: string): number {
    const known = this.#sessions.get(sessionId);
    if (known !== undefined) return known;
    const row = this.#connection.get<{ session_no: number }>(
      'select session_no from worker_session where session_id = ?',
      sessionId,
    );
    if (row === undefined)
      throw new ProctorError('not_found', `there is no worker session \`${sessionId}\` in this store`);
    this.#sessions.set(sessionId, row.session_no);
    return row.session_no;
  }
}
