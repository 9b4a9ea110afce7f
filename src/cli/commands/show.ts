import type { ExecutionDocument } from '../../contract/documents.ts';
import { SEVERITIES } from '../../contract/evaluator.ts';
import { ProctorError } from '../../contract/problem.ts';
import { worstSeverity } from '../../core/execution-sections.ts';
import { describeExecutions, type ExecutionFilter } from '../../engine/describe-executions.ts';
import { findRun } from '../../engine/run.ts';
import { type RunView, viewRun } from '../../engine/run-view.ts';
import type { Command, CommandContext } from '../context.ts';
import { executionLine, executionReport } from '../execution-text.ts';
import { exitCodeOf, printView } from '../work.ts';

interface ShowOptions {
  readonly run: string;
  readonly executions?: boolean;
  readonly failed?: boolean;
  readonly case?: string;
  readonly repeat?: number;
  readonly full?: boolean;
  readonly severity?: string;
  readonly verdict?: boolean;
  readonly gate?: boolean;
  readonly revision?: number;
}

/** `proctor show RUN`: the run's document, or its executions a line each, or one case whole. */
export const show: Command<ShowOptions> = async (context, options) => {
  await using app = await context.openApp({ existing: true });
  if (options.case === undefined && (options.repeat !== undefined || options.full))
    throw new ProctorError('usage', '`--repeat` and `--full` belong to `--case ID`');
  if (options.severity !== undefined && !SEVERITIES.some((one) => one === options.severity && one !== 'none'))
    throw new ProctorError(
      'usage',
      `\`--severity\` is \`${options.severity}\`; it must be low, medium, high or critical`,
    );
  if (options.severity !== undefined && options.executions !== true)
    throw new ProctorError('usage', '`--severity` belongs to `--executions`');
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
  if (options.case !== undefined) return { type: 'case', case_id: options.case, repeat: options.repeat ?? null };
  return { type: options.failed ? 'not_passed' : 'all' };
}

async function showExecutions(
  { output }: CommandContext,
  executions: AsyncIterable<ExecutionDocument>,
  options: ShowOptions,
): Promise<void> {
  let found = 0;
  let seen = 0;
  for await (const execution of executions) {
    seen += 1;
    if (options.severity !== undefined && !atLeast(execution, options.severity)) continue;
    found += 1;
    output.line(
      execution,
      options.case === undefined
        ? executionLine(execution, output)
        : executionReport(execution, output, options.full === true),
    );
  }
  if (found === 0 && options.case !== undefined)
    throw new ProctorError(
      'not_found',
      `the run has no case \`${options.case}\`${options.repeat === undefined ? '' : ` with repeat ${options.repeat}`}; \`proctor show RUN --executions\` lists them`,
    );
  if (found === 0) output.note(`proctor: ${noneText(options, seen)}`);
}

function noneText({ severity, failed }: ShowOptions, seen: number): string {
  if (failed && seen === 0) return 'every execution passed';
  return severity === undefined
    ? 'the run has no executions'
    : `no execution failed with severity ${severity} or worse`;
}

/** Whether a finding of the execution is as bad as that, or worse. */
function atLeast(execution: ExecutionDocument, severity: string): boolean {
  const order: readonly string[] = SEVERITIES;
  return order.indexOf(worstSeverity(execution)) >= order.indexOf(severity);
}
