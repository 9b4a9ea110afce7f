import type { RunDocument } from '../../contract/documents.ts';

/** The verdict that counts: the last revision where people corrected grades, else the run's own. */
export function effective(run: RunDocument): {
  readonly gate_status: RunDocument['gate_status'];
  readonly reason: string;
} {
  const { revision } = run;
  if (revision === null) return { gate_status: run.gate_status, reason: run.reason ?? `the run is ${run.status}` };
  const was = `revision ${revision.number} by ${revision.corrected_by}; its own verdict is ${run.gate_status}`;
  return { gate_status: revision.gate_status, reason: `${revision.reason} (${was})` };
}
