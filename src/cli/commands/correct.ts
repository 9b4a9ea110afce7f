import { ProctorError } from '../../contract/problem.ts';
import { revisionRoot } from '../../core/evidence.ts';
import { instant } from '../../core/instant.ts';
import { correctGrade, type RevisedVerdict } from '../../engine/corrections.ts';
import { findRun } from '../../engine/run.ts';
import { viewRun } from '../../engine/run-view.ts';
import type { Command } from '../context.ts';
import { printable } from '../output.ts';
import { said } from '../said.ts';

interface CorrectOptions {
  readonly run: string;
  readonly case: string;
  readonly status: string;
  readonly reason: string;
  readonly repeat: number;
  readonly evaluator?: number;
  readonly score?: number;
}

/** `proctor correct RUN CASE --status passed|failed --reason TEXT`: a grade corrected by hand, as a new record. */
export const correct: Command<CorrectOptions> = async ({ openApp, output }, options) => {
  const { status } = options;
  if (status !== 'passed' && status !== 'failed')
    throw new ProctorError('usage', `\`--status\` is \`${status}\`; it must be passed or failed`);
  if (options.reason.trim() === '') throw new ProctorError('usage', 'say why with `--reason`: the record stays');
  await using app = await openApp({ existing: true, writes: true });
  const run = await findRun(app.store, options.run);
  const before = await viewRun(app.store, run);
  const row = await correctGrade(
    app,
    run,
    {
      case_id: options.case,
      repeat: options.repeat,
      evaluator: options.evaluator ?? null,
      status,
      score: options.score ?? null,
      reason: await said(app, run, options.reason),
    },
    app.principal,
  );
  const verdict = JSON.parse(row.verdict) as RevisedVerdict;
  const root = revisionRoot({ evidence_root: run.evidence_root ?? '', revision: row.revision, correction: row.hash });
  const document = {
    run_id: run.run_id,
    revision: row.revision,
    case_id: options.case,
    repeat: options.repeat,
    corrected_by: row.principal,
    corrected_at: instant(row.corrected_at),
    gate_status: verdict.gate_status,
    gate_status_before: before.gate_status,
    reason: verdict.reason,
    passed: verdict.passed,
    pass_rate: verdict.pass_rate,
    revision_root: root,
  };
  output.result(
    document,
    `revision ${row.revision} of ${run.run_id}: ${verdict.gate_status.toUpperCase()} (the run's own verdict is ${run.gate_status})  ${printable(verdict.reason)}\nrevision root ${root}; note it elsewhere: proctor verify ${run.run_id} --expect ${root} finds a rewrite of this correction too`,
  );
  return 0;
};
