import type { ArtifactStore } from '../contract/artifact.ts';
import type { Plugins } from '../contract/ports.ts';
import { type Diagnostic, ProctorError } from '../contract/problem.ts';
import type { Profile } from '../contract/profile.ts';
import type { PlanManifest, PlannedCase, Snapshot } from '../contract/snapshot.ts';
import type { RunRow, Store } from '../contract/store.ts';
import { groupOf } from '../core/group.ts';
import { canonicalJson } from '../lib/canonical-json.ts';
import { comparable, freezeBaseline } from './baseline.ts';
import { Gradability } from './gradable.ts';
import { frozenPlan, type Plan } from './plan.ts';
import { PlanWriter } from './plan-writer.ts';
import { codeOf, redactedAnswers } from './recorded.ts';
import { readSnapshot } from './run-context.ts';

const MOST_PROBLEMS = 100;

/** What grades anew: a profile with its folder; null: the old run's own, in its folder. */
export interface Regrading {
  readonly profile: Profile;
  readonly base_dir: string;
}

/**
 * Plans a run that grades the kept answers of a completed one: the same cases in the same order, the agent as it was, groups, evaluators and
 * gate of the profile given. The old run is not touched.
 */
export async function planRegrade(
  deps: { readonly store: Store; readonly artifacts: ArtifactStore; readonly plugins: Plugins },
  run: RunRow,
  regrading: Regrading | null,
): Promise<{ readonly plan: Plan; readonly base_dir: string; readonly not_recomputable: number }> {
  const old = await readSnapshot(deps.store, comparable(run, 'can be graded anew'));
  refuseWithout(old, run);
  const given = regrading?.profile ?? ownProfile(old);
  const base_dir = regrading?.base_dir ?? run.base_dir;
  const { agent, repeats, persistence } = old.profile;
  const profile: Profile = { ...given, agent, repeats, persistence, early_stop: 'off', dataset: null };
  const problems = [...(await deps.plugins.check(profile, base_dir))];
  const writer = new PlanWriter(deps.artifacts);
  const gradability = new Gradability(deps.plugins, profile);
  const group_cases = profile.case_groups.map(() => 0);
  for await (const item of plannedCases(deps.artifacts, run.plan_digest)) {
    const group = regroup(profile, old.profile, item);
    if (typeof group === 'number') {
      group_cases[group] = (group_cases[group] ?? 0) + 1;
      gradability.look({ ...item, group }, {});
      if (gradability.sound) await writer.put(canonicalJson({ ...item, group }));
    } else if (problems.length < MOST_PROBLEMS) problems.push(group);
  }
  problems.push(...gradability.problems());
  if (problems.length > 0)
    throw new ProctorError('invalid_input', `${run.run_id} cannot be graded by this profile; nothing was created`, {
      diagnostics: problems,
    });
  const baseline = regrading === null ? (old.baseline ?? null) : await freezeBaseline(deps, profile);
  const plan = frozenPlan({
    profile,
    dataset: { ...old.dataset, plan_digest: await writer.end() },
    code: await codeOf(deps.plugins, profile, base_dir),
    group_cases,
    ...(baseline === null ? {} : { baseline }),
    regrade_of: {
      run_id: run.run_id,
      content_digest: run.content_digest ?? '',
      evidence_root: run.evidence_root ?? '',
    },
  });
  return { plan, base_dir, not_recomputable: await redactedAnswers(deps, run.run_id) };
}

/** The profile of the old run. One of method 1 has a `max_attempts` of 1 that nobody wrote: it bounded nothing that grading does. */
function ownProfile({ method = 1, profile }: Snapshot): Profile {
  return method === 1 ? { ...profile, defaults: { ...profile.defaults, max_attempts: null } } : profile;
}

function refuseWithout({ profile }: Snapshot, run: RunRow): void {
  if (run.stop_reason !== null)
    throw new ProctorError(
      'illegal_transition',
      `${run.run_id} stopped before its plan was through: there are no answers of the rest`,
    );
  if (profile.persistence.persist_raw_outputs === 'all') return;
  throw new ProctorError(
    'illegal_transition',
    `${run.run_id} kept its answers by \`persist_raw_outputs: ${profile.persistence.persist_raw_outputs}\`; only a run that kept all can be graded anew`,
  );
}

/** The group of the new profile that takes a case: the one that matches, else the one of the old group's name. */
function regroup(profile: Profile, old: Profile, item: PlannedCase): number | Diagnostic {
  const found = groupOf(profile.case_groups, { ...item, case_group: null });
  if (typeof found === 'number') return found;
  const name = old.case_groups[item.group]?.id;
  const same = profile.case_groups.findIndex((group) => group.id === name);
  return same >= 0 ? same : found;
}

async function* plannedCases(artifacts: ArtifactStore, planDigest: string): AsyncGenerator<PlannedCase> {
  const manifest = JSON.parse((await artifacts.get(planDigest)).toString()) as PlanManifest;
  for (const chunk of manifest.chunks)
    for (const line of (await artifacts.get(chunk)).toString().split('\n')) yield JSON.parse(line) as PlannedCase;
}
