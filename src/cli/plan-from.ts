import path from 'node:path';
import { type LoadedProfile, loadProfile } from '../adapters/profiles/load-profile.ts';
import type { ArtifactStore } from '../contract/artifact.ts';
import type { FrozenGateway } from '../contract/gateway-profile.ts';
import type { Plugins } from '../contract/ports.ts';
import { ProctorError } from '../contract/problem.ts';
import type { Profile, Select } from '../contract/profile.ts';
import type { FrozenBaseline } from '../contract/snapshot.ts';
import { type Plan, planRun } from '../engine/plan.ts';

/** Options by which a command line narrows a dataset. */
export interface Selecting {
  readonly profile: string;
  readonly dataset?: string;
  readonly case?: readonly string[];
  readonly tag?: readonly string[];
  readonly limit?: number;
}

/** A planned run with the profile it came from. */
export interface Planned {
  readonly loaded: LoadedProfile;
  readonly plan: Plan;
}

/** What a plan takes from the store. */
export interface PlanMore {
  /** Only these cases: those that did not pass in another run. */
  readonly cases?: readonly string[] | null;
  /** Freezes the baseline of the profile's gate. */
  readonly baselineOf?: (profile: Profile) => Promise<FrozenBaseline | null>;
  /** Freezes the gateway of the profile. */
  readonly gatewayOf?: (loaded: LoadedProfile) => Promise<FrozenGateway | null>;
}

/** Loads the profile, applies the command line's selection and plans the run; problems carry file, line and column. */
export async function planFrom(
  deps: { plugins: Plugins; artifacts: ArtifactStore; cwd: string; signal: AbortSignal },
  options: Selecting,
  more: PlanMore = {},
): Promise<Planned> {
  const loaded = await loadProfile(options.profile, deps.cwd, (value) => deps.plugins.checkNames(value));
  const { profile, base_dir } = loaded;
  const reference = profile.dataset;
  if (options.dataset === undefined && reference === null) {
    throw new ProctorError(
      'usage',
      `\`${options.profile}\` names no dataset; give it \`dataset: { path: … }\`, or pass --dataset PATH`,
    );
  }
  const shown_path = options.dataset ?? reference?.path ?? '';
  const absolute =
    options.dataset === undefined ? path.resolve(base_dir, shown_path) : path.resolve(deps.cwd, shown_path);
  const select: Select = {
    tags_any: options.tag ? [...options.tag] : (reference?.select.tags_any ?? []),
    cases: chosenCases(options.case ?? null, more.cases ?? null) ?? reference?.select.cases ?? [],
    limit: options.limit ?? reference?.select.limit ?? null,
  };
  const dataset = { path: absolute, shown_path, fields: reference?.fields ?? {} };
  const baseline = (await more.baselineOf?.(profile)) ?? null;
  const gateway = (await more.gatewayOf?.(loaded)) ?? null;
  try {
    return {
      loaded,
      plan: await planRun(deps.plugins, deps.artifacts, {
        profile,
        base_dir,
        dataset,
        select,
        signal: deps.signal,
        baseline,
        gateway,
      }),
    };
  } catch (error) {
    if (!ProctorError.is(error)) throw error;
    throw new ProctorError(error.code, error.message, { cause: error, diagnostics: loaded.locate(error.diagnostics) });
  }
}

/** Both narrow: of the cases that failed before, only those that are asked for. */
function chosenCases(asked: readonly string[] | null, failed: readonly string[] | null): string[] | null {
  if (asked === null) return failed === null ? null : [...failed];
  if (failed === null) return [...asked];
  const both = asked.filter((id) => failed.includes(id));
  if (both.length === 0)
    throw new ProctorError(
      'usage',
      `none of the cases that \`--case\` names failed in that run; take out \`--case\` or \`--failed-of\``,
    );
  return both;
}
