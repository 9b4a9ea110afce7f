import type { Connection } from './connection.ts';

/** The body of an event; null where somebody made it no JSON, which another check names. */
const BODY = 'case when json_valid(e.body) then e.body end';

/** Runs whose events tell what attempts took; older runs only counted it. */
const told = (own: string) =>
  `select run_no from event e where seq = 1 and type = 'run_created' and (${BODY}) ->> '$.spend_told' = 1 and ${own}`;

const ENDS = "e.type in ('execution_finished', 'attempt_finished', 'attempt_stale', 'late_evidence')";

/** What attempts took, by counter, as their events tell it. */
const took = (own: string) => `select e.run_no, t.key, t.value
from event e, json_each(${BODY}, '$.took') t where ${ENDS} and ${own} and e.run_no in (${told(own)})`;

/** The counters of a run as its rows and events have them; a counter that was never moved has no row. */
const expected = (own: string) => `
select run_no, status as kind, count(*) as n from result e where ${own} group by run_no, status
union all select run_no, 'passed', sum(passed) from result e where ${own} group by run_no
union all select run_no, status, count(*) from queue e where ${own} group by run_no, status
union all select run_no, 'attempts', count(*) from attempt e where ${own} group by run_no
union all select run_no, 'stale', count(*) from attempt e where status = 'stale' and ${own} group by run_no
union all select run_no, key, sum(value) from (${took(own)}) where key not glob 'answers_*' group by run_no, key`;

const SPEND = "(kind in ('cost_micro_usd', 'tokens', 'tool_calls') or kind glob 'untold_*' or kind glob 'waived_*')";

/** Where the counters of runs, or of one, and what its budgets have seen are not what rows and events come to, a sentence each. */
export function counterDifferences(connection: Connection, runNo?: number): string[] {
  const own = runNo === undefined ? 'true' : `e.run_no = ${runNo}`;
  const rows = connection.all<{ run: string; kind: string; expected: number; found: number }>(
    `select coalesce(r.run_id, b.run_no) as run, b.kind, sum(b.expected) as expected, sum(b.found) as found from (
select run_no, kind, n as expected, 0 as found from (${expected(own)})
union all select run_no, kind, 0, n from run_stat e where ${own} and not (${SPEND} and run_no not in (${told(own)}))
) b left join run r on r.run_no = b.run_no group by b.run_no, b.kind having sum(b.expected) <> sum(b.found) order by b.run_no, b.kind`,
  );
  const budgets = connection.all<{ run: string; kind: string; stored: string; told: string }>(
    `select r.run_id as run, b.kind, b.answers || ' ' || b.highest as stored,
count(e.seq) || ' ' || coalesce(max(coalesce(json_extract(e.body, '$.took.' || b.kind), 0)), 0) as told
from budget b join run r on r.run_no = b.run_no
left join event e on e.run_no = b.run_no and ${ENDS} and json_extract(${BODY}, '$.took.answers_' || b.kind) = 1
where ${own.replace('e.', 'b.')} and b.run_no in (${told(own)}) group by b.run_no, b.kind having stored <> told`,
  );
  return [
    ...rows.map(({ run, kind, expected, found }) => `${run}: ${kind} is ${found}, by rows and events ${expected}`),
    ...budgets.map(
      ({ run, kind, stored, told: by }) =>
        `${run}: the budget of ${kind} has answers and highest ${stored}, by the events ${by}`,
    ),
  ];
}
