import type { ExecutionDocument } from '../../contract/documents.ts';
import type { Exporter } from '../../contract/exporter.ts';
import { cutText } from '../../core/cut-texts.ts';
import { executionText } from '../../core/execution-sections.ts';
import { revisionNote } from '../../core/revision-note.ts';
import { whyNotPassed } from '../../core/why-not-passed.ts';
import { unhidden } from './html-escape.ts';

const MOST_SHOWN = 9; // GitHub shows ten annotations of a kind a step: the gate and nine cases
const MOST_CHARACTERS = 3_200; // of what is stored of a case; GitHub shows 4,096 bytes of a message

/** GitHub workflow commands: the gate as one annotation, then the first cases that did not pass. Print it to the log of a step. */
export const annotations: Exporter = {
  format: 'annotations',
  summary: 'annotations for GitHub Actions, to be printed by a step',
  extension: 'txt',
  async *write({ run, executions }) {
    const { gate_status } = run;
    const note = revisionNote(run);
    const reason = `${run.reason ?? `the run is ${run.status}`}${note === null ? '' : ` (${note})`}`;
    const level = { pass: 'notice', fail: 'error', inconclusive: 'warning', unknown: 'error' }[gate_status];
    const word = run.status === 'completed' ? gate_status.toUpperCase() : run.status.toUpperCase();
    const name = `${run.profile.profile_id}: ${run.agent.name} ${run.agent.version}`;
    yield command(level, `${word} ${name}`, reason);
    let shown = 0;
    for await (const execution of executions()) {
      if (shown === MOST_SHOWN) break;
      if (execution.aggregate?.passed || execution.status === 'cancelled') continue;
      shown += 1;
      yield command(
        gate_status === 'pass' ? 'notice' : 'warning',
        title(execution),
        `${cutText(whyNotPassed(execution), 600)}\n\n${executionText(execution, MOST_CHARACTERS)}`,
      );
    }
  },
};

function title({ case_id, repeat }: ExecutionDocument): string {
  return `not passed: ${case_id}${repeat > 1 ? ` #${repeat}` : ''}`;
}

/** A workflow command; what could end it or begin another is escaped as the runner reads it back. */
function command(level: string, title: string, message: string): string {
  const escaped = (text: string) =>
    unhidden(text).slice(0, 4_000).replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
  const property = (text: string) => escaped(text).replaceAll(':', '%3A').replaceAll(',', '%2C');
  return `::${level} title=${property(title)}::${escaped(message)}\n`;
}
