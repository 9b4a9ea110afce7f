import type { FrozenGateway } from './gateway-profile.ts';
import type { Profile } from './profile.ts';

/** Code that grades or is graded, frozen by its bytes: a worker whose file differs does not claim. */
export interface CodeDigest {
  /** Relative to the profile. */
  readonly path: string;
  readonly digest: string;
}

/** The frozen snapshot of a run: everything that a verdict depends on besides the evidence. Hashed; never changed. */
export interface Snapshot {
  readonly format: 'proctor/snapshot/1';
  /** How the run is computed from its evidence (`core/method.ts`); absent in runs of method 1. */
  readonly method?: 1 | 2;
  readonly profile: Profile;
  readonly dataset: {
    readonly dataset_id: string;
    readonly dataset_version: string | null;
    readonly cases: number;
    readonly plan_digest: string;
  };
  /** Resolved evaluators by ref: the version that grades. */
  readonly evaluators: readonly { readonly ref: string; readonly digest: string | null }[];
  readonly code: readonly CodeDigest[];
  /** How many cases each case group has, in the order of the groups; absent in runs of method 1. */
  readonly group_cases?: readonly number[];
  /** The run that the gate compares with, frozen; absent when the gate names none or none was blessed. */
  readonly baseline?: FrozenBaseline;
  /** The policy and the definitions of the gated tools; absent when the agent has none. */
  readonly gateway?: FrozenGateway;
  /** The run whose answers are graded anew; absent when an agent is asked. */
  readonly regrade_of?: RegradedRun;
}

/** The run whose kept answers another run grades, and what it came to. */
export interface RegradedRun {
  readonly run_id: string;
  readonly content_digest: string;
  readonly evidence_root: string;
}

/** A baseline as a run is created with it: which run it was, what its content came to, and its cases. */
export interface FrozenBaseline {
  readonly run_id: string;
  readonly content_digest: string;
  /** How it was graded (`core/grading.ts`); absent where a run of method 1 was frozen. */
  readonly grading?: string;
  /** Digest of the manifest of its case summaries. */
  readonly summaries: string;
  /** The revision of its grades, where people had corrected some. */
  readonly revision?: number;
}

/** The cases of a baseline in case_id order, in content-addressed chunks of JSON lines. */
export interface BaselineManifest {
  readonly format: 'proctor/case-summaries/1';
  readonly cases: number;
  readonly chunks: readonly string[];
}

/** The plan: the selected cases in order, in content-addressed chunks of canonical JSON lines. */
export interface PlanManifest {
  readonly format: 'proctor/plan/1';
  readonly cases: number;
  /** Cases in every chunk but the last, unless `starts` says otherwise. */
  readonly chunk_size: number;
  /** Where each chunk starts, when some are smaller because their cases are large. */
  readonly starts?: readonly number[];
  readonly chunks: readonly string[];
}

/** One line of a plan chunk: a case with the group that grades it. */
export interface PlannedCase {
  readonly id: string;
  readonly task_type: string;
  readonly group: number;
  readonly input: unknown;
  readonly expected: unknown;
  readonly context: unknown;
  readonly tags: readonly string[];
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly cluster: string | null;
  /** The digest of {task_type, input, expected, context}. */
  readonly case_content: string;
}
