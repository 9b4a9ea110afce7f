import type { Agent } from './agent.ts';
import type { DatasetOptions, DatasetReader } from './case.ts';
import type { Evaluator } from './evaluator.ts';
import type { Diagnostic } from './problem.ts';
import type { EvaluatorReference, Profile } from './profile.ts';
import type { Redaction } from './redaction.ts';
import type { CodeDigest } from './snapshot.ts';

/** How plug-ins are opened for one profile in one process. */
export interface OpenOptions {
  readonly base_dir: string;
  readonly concurrency: number;
}

/** The plug-ins as the engine knows them: by port, resolved and opened through the composition root's registries. */
export interface Plugins {
  openDataset(options: DatasetOptions): DatasetReader;
  /** Names in a raw profile, whatever its shape, that lead to no agent kind or evaluator. */
  checkNames(value: unknown): { readonly path: readonly PropertyKey[]; readonly diagnostic: Diagnostic }[];
  /** Every problem of the profile's agent and evaluators that shows without opening them; fields relative to the profile. */
  check(profile: Profile, baseDir: string): Promise<Diagnostic[]>;
  /** By group and evaluator: why no answer could be graded by what a case expects, or null. */
  ungradable(profile: Profile): readonly (readonly ((expected: unknown) => string | null)[])[];
  /** Files whose bytes are frozen with the run, with their digests now. */
  code(profile: Profile, baseDir: string): Promise<CodeDigest[]>;
  openAgent(profile: Profile, options: OpenOptions): Promise<Agent>;
  openEvaluator(reference: EvaluatorReference, options: OpenOptions): Promise<Evaluator>;
  /** Takes out every secret that was resolved so far. */
  readonly redaction: Redaction;
  /** Looks up the secrets that a profile refers to, as far as they are set here, so that they are known before they are used. */
  learn(profile: Profile): void;
}
