import type { App } from '../../app.ts';
import type { ExecutionDocument } from '../../contract/documents.ts';
import { ProctorError } from '../../contract/problem.ts';
import type { RunRow } from '../../contract/store.ts';
import type { Verdict } from '../../core/verdict.ts';
import { whyNotPassed } from '../../core/why-not-passed.ts';
import { describeExecutions, type ExecutionFilter } from '../../engine/describe.ts';
import { findRun } from '../../engine/run.ts';
import type { Command, CommandContext } from '../context.ts';
import { cut } from '../format.ts';
import { type Output, printable } from '../output.ts';
import { exitCodeOf, printRun } from '../work.ts';

interface ShowOptions {
  readonly run: string;
  readonly executions?: boolean;
  readonly failed?: boolean;
  readonly case?: string;
  readonly verdict?: boolean;
  readonly gate?: boolean;
}

/** `proctor show RUN`: the run's document, or its executions a line each, or one case whole. */
export const show: Command<ShowOptions> = async (context, options) => {
  await using app = await context.openApp({ existing: true });
  const run = await findRun(app.store, options.run);
  if (options.case !== undefined || options.executions)
    await showExecutions(context, describeExecutions(app, run, filterOf(options)), options);
  else if (options.verdict) showVerdict(context, run);
  else await printRun(context, app, run.run_id);
  return options.gate ? exitCodeOf({ ...run, gate_status: await gateStatus(app, run) }) : 0;
};

/** The gate with what people corrected, where they did. */
async function gateStatus({ store }: App, run: RunRow): Promise<RunRow['gate_status']> {
  const last = (await store.corrections(run.run_id)).at(-1);
  return last === undefined ? run.gate_status : (JSON.parse(last.verdict) as Verdict).gate_status;
}

/** The verdict document byte for byte (`verdict.json`), for comparison with another run's or machine's. */
function showVerdict({ output }: CommandContext, run: RunRow): void {
  if (run.verdict === null)
    throw new ProctorError('illegal_transition', `${run.run_id} is ${run.status} and has no verdict`);
  output.result(JSON.parse(run.verdict), run.verdict);
}

function filterOf(options: ShowOptions): ExecutionFilter {
  if (options.case !== undefined) return { type: 'case', case_id: options.case };
  return { type: options.failed ? 'not_passed' : 'all' };
}

async function showExecutions(
  { output }: CommandContext,
  executions: AsyncIterable<ExecutionDocument>,
  options: ShowOptions,
): Promise<void> {
  let found = 0;
  for await (const execution of executions) {
    found += 1;
    output.line(execution, options.case === undefined ? oneLine(execution, output) : whole(execution, output));
  }
  if (found === 0 && options.case !== undefined)
    throw new ProctorError('not_found', `the run has no case \`${options.case}\``);
}

function oneLine(execution: ExecutionDocument, output: Output): string {
  const passed = execution.aggregate?.passed === true;
  const mark = passed ? output.style('green', '✓') : output.style('red', '✗');
  const score = execution.aggregate === null ? '-' : execution.aggregate.score.toFixed(3);
  const attempts = execution.attempts > 1 ? output.style('dim', ` (${execution.attempts} attempts)`) : '';
  return `${mark} ${printable(execution.case_id)} #${execution.repeat}  ${execution.status}  ${score}${attempts}${passed ? '' : `  ${cut(printable(whyNotPassed(execution)), 160)}`}`;
}

function whole(execution: ExecutionDocument, output: Output): string {
  const results = execution.evaluator_results.map((result) => {
    const mark =
      result.status === 'passed'
        ? output.style('green', '✓')
        : output.style('red', result.status === 'skipped' ? '-' : '✗');
    return `  ${mark} ${result.ref} ${output.style('dim', `${result.dimension}${result.blocking ? ', blocking' : ''}`)}  ${result.score ?? ''} ${printable(result.reason ?? result.status)}`;
  });
  if (execution.corrected !== null)
    for (const { index, status, reason } of execution.corrected.results)
      results.push(
        `  ${output.style('yellow', '✎')} evaluator ${index} ${status} by ${printable(execution.corrected.corrected_by)}: ${printable(reason ?? '')}`,
      );
  const answer =
    execution.output === null
      ? null
      : typeof execution.output === 'string'
        ? execution.output
        : JSON.stringify(execution.output, null, 2);
  const output_ =
    answer === null
      ? []
      : [
          output.style('dim', '  output'),
          ...answer
            .split('\n')
            .slice(0, 60)
            .map((line) => `    ${printable(line)}`),
        ];
  return [oneLine(execution, output), `  ${output.style('dim', execution.execution_id)}`, ...results, ...output_].join(
    '\n',
  );
}
