import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { EvaluatorResult } from '../../src/contract/evaluator.ts';
import { executionContent } from '../../src/core/evidence.ts';
import { canonicalJson } from '../../src/lib/canonical-json.ts';
import { aggregateAnew, evidenceOf, regrade, setCell } from '../support/tampered-cells.ts';
import { rewrite } from '../support/tampered-rewrite.ts';
import { dropTriggers, makeTamperedProject, type TamperedProject } from '../support/tampered-run.ts';
import { addRow, removeRow, replaceRow, rowsOf, runNoOf, type Tamper, Tampering } from '../support/tampered-store.ts';

let project: TamperedProject;
let tampering: Tampering;

beforeAll(async () => {
  project = await makeTamperedProject(mkdtempSync(path.join(tmpdir(), 'proctor-impossible-')));
  dropTriggers(project.store);
  tampering = new Tampering(project);
});

afterAll(() => rmSync(project.folder, { recursive: true, force: true }));

const COMPLETED = "status = 'completed'";
const FAILED = "status = 'failed'";
const RETRIED = 'attempt = 2';
const STALE = "status = 'stale'";
const ERRED = "status = 'failed_evaluation'";
const OTHER = canonicalJson({ passed: true, score: 0.5, dimensions: {}, blocking_failures: [] });
const CANCELLED = executionContent({
  status: 'cancelled',
  fault: 'cancelled',
  envelope: null,
  evaluator_results: [],
  aggregate: null,
});
const SIXTH = 'ordinal = 5';

/** Runs that Proctor could not have made although every hash in them is right, and what verify says of them. */
const IMPOSSIBLE: readonly (readonly [title: string, change: Tamper, where: string, what: string])[] = [
  ['a result weighs more than the profile says', graded({ weight: 100 }), 'evidence', 'weight'],
  ['a result no longer blocks', graded({ blocking: false }), 'evidence', 'blocking'],
  ['a result is in another dimension', graded({ dimension: 'style' }), 'evidence', 'dimension'],
  ['a result is of another evaluator', graded({ ref: 'contains@1' }), 'evidence', 'ref'],
  ['a result stands at another place', graded({ index: 3 }), 'evidence', 'index'],
  [
    'an evaluator erred in what was completed',
    graded({ status: 'error' }),
    'evidence',
    'an evaluator that erred cannot complete an execution',
  ],
  ['a result is missing', without('evaluator_result'), 'evidence', 'one result of every evaluator'],
  ['the envelope is missing', without('envelope'), 'evidence', 'a completed execution has no envelope'],
  ['an aggregate is another', cell('result', COMPLETED, 'aggregate', OTHER), 'result', 'aggregate'],
  ['a failure counts as passed', cell('result', FAILED, 'passed', 1), 'result', 'passed'],
  ['the content of an answer is another', cell('result', COMPLETED, 'content', 'f'), 'result', 'content'],
  ['the content of a failure is another', cell('result', FAILED, 'content', 'f'), 'result', 'content'],
  [
    'the agent’s fault is not its own',
    failed({ fault: 'infrastructure' }),
    'attempt',
    'the fault is that of its evidence',
  ],
  ['a failure has another code', failed({ code: 'other' }), 'attempt', 'the reason is that of its evidence'],
  [
    'a result has another fault',
    cell('result', FAILED, 'fault', 'policy'),
    'result',
    'the fault is its last attempt’s',
  ],
  [
    'a result has another end',
    cell('result', COMPLETED, 'status', 'failed'),
    'result',
    'completed as its last attempt',
  ],
  ['a result is by an attempt before', cell('result', RETRIED, 'attempt', 1), 'result', 'it is by the last attempt'],
  ['a result came at another time', cell('result', COMPLETED, 'finished_at', 1), 'result', 'finished_at'],
  ['an attempt started at another time', cell('attempt', STALE, 'started_at', 1), 'attempt', 'started_at'],
  ['a stale attempt ended at another time', cell('attempt', STALE, 'ended_at', 1), 'attempt', 'ended_at'],
  ['a stale attempt ended otherwise', cell('attempt', STALE, 'status', 'cancelled'), 'attempt', 'status'],
  ['a failed attempt ended at another time', cell('attempt', ERRED, 'ended_at', 1), 'attempt', 'ended_at'],
  ['a failed attempt has another reason', cell('attempt', ERRED, 'reason', 'other'), 'attempt', 'reason'],
  [
    'attempts have a gap',
    cell('attempt', STALE, 'attempt', 7),
    'attempt',
    'attempts are numbered from 1 without a gap',
  ],
  ['two attempts ran at once', event('attempt_started', 'attempt', 9), 'event', 'the attempt before has ended'],
  [
    'an attempt ended unstarted',
    event('attempt_stale', 'attempt', 9),
    'event',
    'it ends the attempt that started last',
  ],
  [
    'an execution ended by an attempt that never started',
    event('execution_finished', 'attempt', 9),
    'event',
    'it is by the attempt that started last',
  ],
  [
    'evidence has a gap',
    cell('evidence', 'seq = 3', 'seq', 9),
    'evidence',
    'evidence is numbered from 1 without a gap',
  ],
  ['time ran backwards', event('run_finalizing', 'at', 1), 'event', 'instants go backwards'],
  ['an event says a number', event('run_finalizing', 'body', '5'), 'event', 'the body is not a JSON object'],
  ['the run was created with another plan', created('plan_digest', 'f'), 'run', 'plan_digest'],
  ['the run was created with more cases', created('cases', 13), 'run', 'cases'],
  ['the run was created with more repeats', created('repeats', 3), 'run', 'repeats'],
  ['the run was created with more executions', created('total', 25), 'run', 'total'],
  ['an execution was left out', leaveOut, 'result', 'every execution has a result'],
  ['a case was added', added, 'execution', 'the plan has no such execution'],
  ['a case is another', cell('execution', SIXTH, 'case_id', 'c99'), 'execution', 'case_id'],
  ['a case ran a third time', cell('execution', SIXTH, 'repeat', 3), 'execution', 'repeat'],
  ['a case is in another cluster', cell('execution', SIXTH, 'cluster', 'other'), 'execution', 'cluster'],
  ['a case asked something else', cell('execution', SIXTH, 'case_content', 'f'), 'execution', 'case_content'],
];

describe('a rewrite with every hash made anew is found by verify alone', () => {
  it.each(IMPOSSIBLE)('when %s', async (_title, change, where, what) => {
    const { completed } = project.runs;
    const { ok, found } = await tampering.verify(completed, (db) => rewrite(db, completed, change));
    const named = found.some((item) => item.where === where && item.what === what);
    expect({ ok, named, found: named ? [] : found }).toEqual({ ok: false, named: true, found: [] });
  });

  it('when gate, content digest or root are not those of its verdict', async () => {
    const { completed } = project.runs;
    const columns = { gate_status: 'inconclusive', content_digest: 'f'.repeat(64), evidence_root: 'f'.repeat(64) };
    const found: unknown[] = [];
    for (const [column, value] of Object.entries(columns)) {
      const change = cell('run', `run_id = '${completed.run_id}'`, column, value);
      const tamper: Tamper = (db) => rewrite(db, completed, change, ['change', 'completed', 'outbox']);
      found.push((await tampering.verify(completed, tamper)).found.map((item) => [item.where, item.what]));
    }
    expect(found).toEqual([[['verdict', 'gate_status']], [['verdict', 'content_digest']], [['run', 'evidence_root']]]);
  });

  it('when it is of a run in progress and leaves its events as they are', async () => {
    const { running } = project.runs;
    const change: Tamper = (db) => {
      const { row, body } = evidenceOf(db, running, 'failed', 'failure');
      setCell(db, 'evidence', row, 'body', canonicalJson({ ...body, message: 'another message' }));
    };
    const { found } = await tampering.verify(running, (db) =>
      rewrite(db, running, change, ['change', 'evidence', 'seals', 'results']),
    );
    expect(found.map((item) => [item.where, item.what])).toEqual([['result', 'the hash that the event tells of']]);
  });

  it('when it adds a result or an attempt to a run in progress that no event tells of', async () => {
    const { running } = project.runs;
    const first = (db: DatabaseSync, table: string, ordinal: number) => {
      const [row] = rowsOf(db, table, `run_no = ${runNoOf(db, running.run_id)} and ordinal = ${ordinal}`);
      if (row === undefined) throw new Error(`${table} has no row ${ordinal}`);
      return row;
    };
    const result: Tamper = (db) => {
      const end = {
        ordinal: 9,
        attempt: 0,
        status: 'cancelled',
        fault: 'cancelled',
        passed: 0,
        aggregate: null,
        content: CANCELLED,
      };
      addRow(db, 'result', { ...first(db, 'result', 0), ...end });
      removeRow(db, 'queue', first(db, 'queue', 9));
    };
    const attempt: Tamper = (db) => {
      addRow(db, 'attempt', { ...first(db, 'attempt', 2), ordinal: 9 });
      replaceRow(db, 'queue', first(db, 'queue', 9), { ...first(db, 'queue', 9), attempt: 1 });
    };
    const found: unknown[] = [];
    for (const change of [result, attempt]) {
      const verification = await tampering.verify(running, (db) => rewrite(db, running, change, ['change', 'results']));
      found.push(verification.found.map((item) => [item.where, item.what]));
    }
    expect(found).toEqual([
      [['result', 'results that events tell of'], ...counted(['cancelled', 0, 1], ['pending', 21, 20])],
      [['attempt', 'attempts that events tell of'], ...counted(['attempts', 3, 4])],
    ]);
  });
});

/** What the counters of the run in progress, which nobody moved, are named with. */
function counted(...counters: readonly [kind: string, found: number, expected: number][]): [string, string][] {
  return counters.map(([kind, found, expected]) => ['run_stat', `${kind} is ${found}, by rows and events ${expected}`]);
}

function cell(table: string, where: string, column: string, value: SQLInputValue): Tamper {
  return (db) => setCell(db, table, where, column, value);
}

function event(type: string, column: string, value: SQLInputValue): Tamper {
  return cell('event', `type = '${type}'`, column, value);
}

function created(column: string, value: string | number): Tamper {
  return (db) => {
    setCell(db, 'run', '1 = 1', column, value);
    const body = db.prepare("select body from event where type = 'run_created' order by run_no").get()?.['body'];
    const members = JSON.parse(String(body)) as object;
    setCell(db, 'event', "type = 'run_created'", 'body', canonicalJson({ ...members, [column]: value }));
  };
}

function added(db: DatabaseSync): void {
  const [row] = rowsOf(db, 'execution', `run_no = ${runNoOf(db, project.runs.completed.run_id)}`);
  addRow(db, 'execution', { ...row, ordinal: 99, case_id: 'c99' });
}

/** Takes the last execution out of the run, with all that tells of it. */
function leaveOut(db: DatabaseSync): void {
  const runNo = runNoOf(db, project.runs.completed.run_id);
  const own = `run_no = ${runNo} and ordinal = 23`;
  for (const table of ['event', 'evidence', 'attempt', 'result', 'execution'])
    db.exec(`delete from ${table} where ${own}`);
  const events = rowsOf(db, 'event', `run_no = ${runNo}`);
  for (const [index, row] of events.entries()) replaceRow(db, 'event', row, { ...row, seq: index + 1 });
  db.prepare('update run_head set event_count = ? where run_no = ?').run(events.length, runNo);
  setCell(db, 'run', '1 = 1', 'materialized', 23);
}

function graded(members: Partial<EvaluatorResult>): Tamper {
  return (db) => regrade(db, project.runs.completed, members);
}

function failed(members: Readonly<Record<string, unknown>>): Tamper {
  return (db) => {
    const { row, body } = evidenceOf(db, project.runs.completed, 'failed', 'failure');
    setCell(db, 'evidence', row, 'body', canonicalJson({ ...body, ...members }));
  };
}

/** Takes the last row of a kind out of an attempt, whose last rows are its evaluator results; without its envelope it keeps none. */
function without(kind: 'envelope' | 'evaluator_result'): Tamper {
  return (db) => {
    const found = evidenceOf(db, project.runs.completed, 'completed', kind);
    const { attempt } = found;
    const last = `and seq = (select max(seq) from evidence where ${attempt})`;
    const { changes } = db.prepare(`delete from evidence where ${attempt} ${kind === 'envelope' ? '' : last}`).run();
    const left = kind === 'envelope' ? 0 : 2;
    if (left + Number(changes) !== 3) throw new Error(`${changes} rows of evidence were removed`);
    setCell(db, 'attempt', attempt, 'evidence_count', left);
    if (left > 0) aggregateAnew(db, project.runs.completed, found);
  };
}
