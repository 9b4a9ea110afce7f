import type { ExecutionDocument, RunDocument } from '../../contract/documents.ts';
import type { Exporter } from '../../contract/exporter.ts';
import { correctionText } from '../../core/correction-text.ts';
import { executionText, worstSeverity } from '../../core/execution-sections.ts';
import { revisionNote } from '../../core/revision-note.ts';
import { whyNotPassed } from '../../core/why-not-passed.ts';
import { unhidden } from './html-escape.ts';

/**
 * JUnit XML in the shape that CI systems read: a suite with the gate as its one test, and a suite with a test an execution. Not passed
 * is a `failure`, an infrastructure, configuration or grader fault an `error`, a cancelled execution `skipped`.
 */
export const junit: Exporter = {
  format: 'junit',
  summary: 'JUnit XML for CI',
  extension: 'xml',
  async *write({ run, executions }) {
    const counts = { passed: 0, failure: 0, error: 0, skipped: 0 };
    for await (const execution of executions()) counts[elementOf(execution)] += 1;
    const { failure: failures, error: errors, skipped } = counts;
    const total = counts.passed + failures + errors + skipped;
    const gate = gateResult(run);
    yield '<?xml version="1.0" encoding="UTF-8"?>\n';
    yield `<testsuites${attributes({
      name: run.profile.profile_id,
      tests: total + 1,
      failures: failures + (gate.kind === 'failure' ? 1 : 0),
      errors: errors + (gate.kind === 'error' ? 1 : 0),
    })}>\n`;
    yield gateSuite(run, gate);
    const time = seconds(run.duration_ms);
    yield `  <testsuite${attributes({ name: run.profile.profile_id, tests: total, failures, errors, skipped, time, timestamp: run.started_at })}>\n`;
    const room: Room = { passed: MOST_OF_PASSED, other: MOST_OF_OTHERS };
    for await (const execution of executions()) yield testcase(run, execution, room);
    yield '  </testsuite>\n</testsuites>\n';
  },
};

const MOST_CHARACTERS = 16_000; // of a case that did not pass
const MOST_OF_OTHERS = 24_000_000; // of all of them
const MOST_CHARACTERS_PASSED = 4_000; // of a case that passed or was cancelled
const MOST_OF_PASSED = 8_000_000;
const LEFT_OUT = 'left out, because this file would be too large: `proctor show RUN --case ID` prints it';

/** Characters that are left for what is stored of the cases. */
interface Room {
  passed: number;
  other: number;
}

interface Outcome {
  readonly kind: 'passed' | 'failure' | 'error';
  readonly message: string;
}

function gateResult(run: RunDocument): Outcome {
  const { gate_status } = run;
  const note = revisionNote(run);
  const message = `${run.reason ?? `the run is ${run.status}`}${note === null ? '' : ` (${note})`}`;
  if (gate_status === 'pass') return { kind: 'passed', message };
  return { kind: gate_status === 'fail' ? 'failure' : 'error', message };
}

function gateSuite(run: RunDocument, { kind, message }: Outcome): string {
  const counts = { tests: 1, failures: kind === 'failure' ? 1 : 0, errors: kind === 'error' ? 1 : 0 };
  const properties = {
    run_id: run.run_id,
    gate_status: run.gate_status,
    agent: `${run.agent.name} ${run.agent.version}`,
    pass_rate: run.pass_rate,
    interval: run.interval === null ? null : run.interval.join(' '),
    content_digest: run.content_digest,
    evidence_root: run.evidence_root,
    revision: run.revision?.number ?? null,
    revision_root: run.revision?.revision_root ?? null,
  };
  const lines = Object.entries(properties)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `      <property${attributes({ name, value })}/>\n`);
  const inner =
    kind === 'passed'
      ? `<system-out>${escapeXml(message)}</system-out>`
      : `<${kind}${attributes({ message, type: run.gate_status })}/>`;
  return `  <testsuite${attributes({ name: 'gate', ...counts })}>
    <properties>
${lines.join('')}    </properties>
    <testcase${attributes({ classname: run.profile.profile_id, name: 'gate' })}>${inner}</testcase>
  </testsuite>\n`;
}

/** Which element an execution is: counted and written by the same rule. */
function elementOf({ status, fault, aggregate }: ExecutionDocument): 'passed' | 'failure' | 'error' | 'skipped' {
  if (aggregate?.passed) return 'passed';
  if (!['completed', 'failed', 'timed_out'].includes(status)) return 'skipped';
  return fault === 'infrastructure' || fault === 'configuration' || fault === 'grader' ? 'error' : 'failure';
}

function testcase(run: RunDocument, execution: ExecutionDocument, room: Room): string {
  const { case_id, repeat, fault } = execution;
  const name = run.repeats > 1 ? `${case_id} #${repeat}` : case_id;
  const head = `    <testcase${attributes({ classname: run.profile.profile_id, name, time: seconds(execution.latency_ms) })}>`;
  const kind = elementOf(execution);
  const corrected = correctionText(execution);
  const note = corrected === null ? '' : `${corrected}\n`;
  if (kind === 'failure' || kind === 'error') {
    const body = stored(execution, room, 'other');
    const out = note === '' ? '' : `<system-out>${escapeXml(note.trimEnd())}</system-out>`;
    return `${head}<${kind}${attributes({ message: whyNotPassed(execution), type: fault ?? 'not_passed' })}>${escapeXml(body)}</${kind}>${out}</testcase>\n`;
  }
  const skipped = kind === 'passed' ? '' : `<skipped${attributes({ message: whyNotPassed(execution) })}/>`;
  return `${head}${skipped}<system-out>${escapeXml(`${note}${stored(execution, room, 'passed')}`)}</system-out></testcase>\n`;
}

/** What is stored of an execution, as text, while there is room. */
function stored(execution: ExecutionDocument, room: Room, kind: keyof Room): string {
  const most = kind === 'passed' ? MOST_CHARACTERS_PASSED : MOST_CHARACTERS;
  const text = room[kind] > 0 ? executionText(execution, most) : LEFT_OUT;
  room[kind] -= text.length;
  return `execution ${execution.execution_id}, severity ${worstSeverity(execution)}\n${text}`;
}

function seconds(ms: number | null): string | null {
  return ms === null ? null : (ms / 1000).toFixed(3);
}

function attributes(values: Readonly<Record<string, string | number | null>>): string {
  return Object.entries(values)
    .filter(([, value]) => value !== null)
    .map(
      ([name, value]) =>
        ` ${name}="${escapeXml(String(value))
          .replaceAll('"', '&quot;')
          .replace(/[\n\r\t]/g, ' ')}"`,
    )
    .join('');
}

/** Text for XML 1.0: marked-up characters escaped; what XML cannot carry, and what would hide or reorder the text, shown as U+FFFD. */
function escapeXml(text: string): string {
  return unhidden(text).replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
