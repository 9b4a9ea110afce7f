import type { ArtifactPlace } from '../contract/artifact.ts';
import type { ToolDoors } from '../contract/gateway-profile.ts';
import type { Plugins } from '../contract/ports.ts';
import type { PlannedCase } from '../contract/snapshot.ts';
import type { AttemptSpend, Claim, Store } from '../contract/store.ts';
import type { Clock } from '../lib/clock.ts';
import type { EvidenceWriter } from './evidence-rows.ts';
import type { RunContext } from './run-context.ts';

/** What an attempt works with. */
export interface AttemptDeps {
  readonly store: Store;
  readonly artifacts: ArtifactPlace;
  readonly plugins: Plugins;
  readonly clock: Clock;
  /** Doors to the gateway, for runs whose agent has gated tools. */
  readonly doors?: ToolDoors;
}

/** What an attempt has taken so far, for whoever ends it from outside; nothing before the agent is asked. */
export interface AttemptTaken {
  spend?: AttemptSpend;
  /** Tools that policy denied the agent while it has not answered. */
  denied?: readonly string[];
}

/** One attempt at work. */
export interface AttemptWork {
  readonly deps: AttemptDeps;
  readonly context: RunContext;
  readonly claim: Claim;
  readonly item: PlannedCase;
  readonly evidence: EvidenceWriter;
  /** Aborts with what ends the attempt: one for all of it, because each costs as much as a row of the store. */
  readonly control: AbortController;
  readonly signal: AbortSignal;
  readonly taken: AttemptTaken;
}
