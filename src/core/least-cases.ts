import type { GateCondition } from '../contract/gate.ts';
import type { Profile } from '../contract/profile.ts';
import type { Snapshot } from '../contract/snapshot.ts';
import { rationalOf } from '../lib/rational.ts';
import { dimensionsOf } from './aggregate.ts';

/** What of a snapshot says how many cases could have a metric. */
export interface Planned extends Pick<Snapshot, 'group_cases'> {
  readonly profile: Pick<Profile, 'case_groups' | 'gate' | 'repeats'>;
}

/** How many cases could have a condition's metric: those of the groups whose evaluators score its dimension, else all. */
export function dueCases({ profile, group_cases }: Planned, { metric }: Pick<GateCondition, 'metric'>): number {
  const dimension = metric.startsWith('dimension.') ? metric.slice('dimension.'.length) : null;
  let due = 0;
  for (const [index, group] of profile.case_groups.entries())
    if (dimension === null || dimensionsOf(group).includes(dimension)) due += group_cases?.[index] ?? 0;
  return due;
}

/** So many of `count`, less the share that may be missing by faults. */
export function lessFaults(count: number, share: number): number {
  const allowed = rationalOf(share);
  return count - Number((BigInt(count) * allowed.n) / allowed.d);
}
