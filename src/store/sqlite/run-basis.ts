import type { BasisDifference } from '../../contract/store.ts';
import type { Connection } from './connection.ts';
import { counterDifferences } from './counters.ts';
import { runJournalDifferences } from './journal.ts';
import type { Keys } from './keys.ts';
import { toolRunDifferences } from './tool-audit.ts';
import { operatorBasis, policyDifferences } from './tool-basis.ts';

/**
 * Where what a store keeps beside a run's own rows is not as it must be: the counters that its report shows, the journal that tells of it,
 * and, when it called tools, what those calls were decided by.
 */
export function runBasis(connection: Connection, keys: Keys, runId: string): BasisDifference[] {
  const runNo = keys.run(runId);
  const found = (where: string, sentences: readonly string[]) =>
    sentences.map((what): BasisDifference => ({ where, row: runId, what: what.replace(`${runId}: `, '') }));
  const called = connection.get('select 1 from tool_run where stream = ? limit 1', runNo) !== undefined;
  return [
    ...found('run_stat', counterDifferences(connection, runNo)),
    ...found('journal', runJournalDifferences(connection, runId)),
    ...(called
      ? [
          ...found('tool_run', toolRunDifferences(connection, runNo)),
          ...found('policy', policyDifferences(connection, runNo)),
          ...found('gateway', operatorBasis(connection)),
        ]
      : []),
  ];
}
