import type { ExecutionDocument } from '../../contract/documents.ts';
import { ProctorError } from '../../contract/problem.ts';
import { whyNotPassed } from '../../core/why-not-passed.ts';
import { describeExecutions, type ExecutionFilter } from '../../engine/describe.ts';
import { findRun } from '../../engine/run.ts';
import { type RunView, viewRun } from '../../engine/run-view.ts';
import type { Command, CommandContext } from '../context.ts';
import { cut } from '../format.ts';
import { type Output, printable } from '../output.ts';
import { exitCodeOf, printView } from '../work.ts';

interface ShowOptions {
  readonly run: string;
  readonly executions?: boolean;
  readonly failed?: boolean;
  readonly case?: string;
  readonly verdict?: boolean;
  readonly gate?: boolean;
  readonly revision?: number;
}

/** `proctor show RUN`: the run's document, or its executions a line each, or one case whole. */
export const show: Command<ShowOptions> = async (context, options) => {
  await using app = await context.openApp({ existing: true });
  const view = await viewRun(app.store, await findRun(app.store, options.run), options.revision ?? null);
  if (options.case !== undefined || options.executions)
    await showExecutions(context, describeExecutions(app, view, filterOf(options)), options);
  else if (options.verdict) showVerdict(context, view);
  else await printView(context.output, app, view);
  return options.gate ? exitCodeOf({ status: view.run.status, gate_status: view.gate_status }) : 0;
};

/** The verdict document byte for byte (`verdict.json`), for comparison with another run's or machine's. */
function showVerdict({ output }: CommandContext, { run, verdict, verdict_json }: RunView): void {
  if (verdict_json === null)
    throw new ProctorError('illegal_transition', `${run.run_id} is ${run.status} and has no verdict`);
  output.result(verdict, verdict_json);
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
    for (const { index, status, reason } of execution.corrected.own.results)
      results.push(
        `  ${output.style('yellow', '✎')} corrected by ${printable(execution.corrected.corrected_by)}; evaluator ${index} itself: ${status} ${printable(reason ?? '')}`,
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
