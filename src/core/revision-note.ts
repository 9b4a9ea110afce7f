import type { RunDocument } from '../contract/documents.ts';

/** Which verdict a document tells, where people corrected grades; null where nobody did. */
export function revisionNote({ revision }: Pick<RunDocument, 'revision'>): string | null {
  if (revision === null) return null;
  const { number, latest, corrected_by, own } = revision;
  if (number === 0) return `the run's own verdict; revision ${latest} is the last`;
  const of = number === latest ? '' : ` of ${latest}`;
  return `revision ${number}${of} by ${corrected_by}; the run's own verdict is ${own.gate_status}`;
}
