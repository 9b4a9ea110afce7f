import { ProctorError } from '../contract/problem.ts';
import type { CaseGroup, Profile } from '../contract/profile.ts';
import type { Snapshot } from '../contract/snapshot.ts';
import { type Aggregate, aggregate, failedAggregate } from './aggregate.ts';
import { type CaseSummary, type ContentOutcome, summarize } from './case-summary.ts';
import { ComparisonBuilder, type ComparisonOptions, type ComparisonPolicy } from './comparison.ts';
import { EarlyStop } from './early-stop.ts';
import type { Planned } from './least-cases.ts';
import * as first from './method-1/index.ts';
import { VerdictBuilder } from './verdict.ts';

/** How a run is computed from its evidence: arithmetic, statistics and gate. The snapshot freezes which method counts. */
export interface Method {
  readonly version: 1 | 2;
  aggregate(group: CaseGroup, defaults: Profile['defaults'], results: Parameters<typeof aggregate>[2]): Aggregate;
  failedAggregate(group: CaseGroup): Aggregate;
  summarize(rows: readonly ContentOutcome[]): CaseSummary;
  verdict(
    snapshot: Pick<Snapshot, 'profile' | 'group_cases'>,
    snapshotDigest: string,
  ): Pick<VerdictBuilder, 'add' | 'end'>;
  /** What the gate's baseline declares, with the test that follows from the repeats where it names none; null without a baseline. */
  comparisonPolicy(profile: Pick<Profile, 'gate' | 'repeats'>): ComparisonPolicy | null;
  comparison(options: ComparisonOptions): Pick<ComparisonBuilder, 'add' | 'end'>;
  earlyStop(snapshot: Planned): Pick<EarlyStop, 'add' | 'decision'>;
}

/** The method that new runs are frozen with. */
export const CURRENT_METHOD = 2;

const METHODS: Readonly<Record<1 | 2, Method>> = {
  1: {
    version: 1,
    aggregate: first.aggregate,
    failedAggregate: first.failedAggregate,
    summarize: first.summarize,
    verdict: ({ profile }, snapshotDigest) => new first.VerdictBuilder(profile, snapshotDigest),
    comparisonPolicy: first.comparisonPolicy,
    comparison: ({ policy, seed }) => new first.ComparisonBuilder(policy, seed),
    earlyStop: ({ profile }) => new first.EarlyStop(profile),
  },
  2: {
    version: 2,
    aggregate,
    failedAggregate,
    summarize,
    verdict: (snapshot, snapshotDigest) => new VerdictBuilder(snapshot, snapshotDigest),
    comparisonPolicy(profile) {
      const { baseline, max_infra_rate } = profile.gate;
      const policy = first.comparisonPolicy(profile);
      return policy === null ? null : { ...policy, min_cases: baseline?.min_cases ?? null, max_infra_rate };
    },
    comparison: (options) => new ComparisonBuilder(options),
    earlyStop: (snapshot) => new EarlyStop(snapshot),
  },
};

/** The method of a run; runs from before methods were numbered have the first. A method that this Proctor does not know is `store_newer`. */
export function methodOf({ method = 1 }: Pick<Snapshot, 'method'>): Method {
  const known = METHODS[method];
  if (known === undefined)
    throw new ProctorError(
      'store_newer',
      `the run is computed by method ${method}, and this Proctor knows 1 and 2; use the newer Proctor that made the run`,
    );
  return known;
}
