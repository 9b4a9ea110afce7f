import { createPlugins } from '../../app.ts';
import { dryArtifacts } from '../../artifacts/dry.ts';
import type { PlannedCase } from '../../contract/snapshot.ts';
import { type ProbeTrial, probe } from '../../engine/probe.ts';
import { systemClock } from '../../lib/clock.ts';
import type { Command } from '../context.ts';
import { counted } from '../format.ts';
import { printable } from '../output.ts';
import { planFrom, type Selecting } from '../plan-from.ts';

/** `proctor check PROFILE`: everything that planning checks, without creating a run; `--probe` tries agent and evaluators. */
export const check: Command<Selecting & { readonly probe?: boolean }> = async (context, options) => {
  const { output } = context;
  const plugins = createPlugins(context);
  const artifacts = dryArtifacts();
  const signal = new AbortController().signal;
  const { loaded, plan } = await planFrom({ plugins, artifacts, cwd: context.cwd, signal }, options);
  const { profile, base_dir } = loaded;
  const cases = (artifacts.first() ?? '').split('\n').map((line) => JSON.parse(line) as PlannedCase);
  const trials: ProbeTrial[] = options.probe
    ? await probe({ plugins, clock: systemClock }, profile, base_dir, cases, signal)
    : [];
  const ok = trials.every((trial) => trial.ok);
  const document = {
    ok,
    profile_id: profile.profile_id,
    cases: plan.cases,
    executions: plan.cases * profile.repeats,
    snapshot_digest: plan.snapshot_digest,
    probe: trials,
  };
  const mark = ({ ok: held, warning }: ProbeTrial) =>
    held ? output.style(warning ? 'yellow' : 'green', warning ? '!' : '✓') : output.style('red', '✗');
  const lines = trials.map(
    (trial) =>
      `  ${mark(trial)} ${trial.group} ${trial.trial.replace('_', '-')} on ${printable(trial.case_id)}: ${printable(trial.detail)}${trial.latency_ms === null ? '' : output.style('dim', ` (${trial.latency_ms} ms)`)}`,
  );
  const headline = `${output.style('bold', output.style(ok ? 'green' : 'red', ok ? ' OK ' : ' NOT OK '))} ${loaded.file}: ${counted(plan.cases, 'case')} × ${profile.repeats}, ${counted(profile.case_groups.length, 'case group')}, agent ${printable(profile.agent.name)} ${printable(profile.agent.version)}`;
  output.result(document, [headline, ...lines].join('\n'));
  return ok ? 0 : 1;
};
