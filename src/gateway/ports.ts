import type { ArtifactStore } from '../contract/artifact.ts';
import type { Principal } from '../contract/principal.ts';
import type { DeclaredSource } from '../contract/project.ts';
import type { Redaction } from '../contract/redaction.ts';
import type { Store } from '../contract/store.ts';
import type { SchemaCheck } from '../contract/tool.ts';
import type { Policy } from '../core/policy/compile.ts';
import type { Surroundings } from '../core/policy/facts.ts';
import type { Clock } from '../lib/clock.ts';

/** The secrets that this process knows of: resolves references to them, and takes them out again. */
export interface SecretKeeper extends Redaction {
  resolve(text: string): string;
}

/** Everything the gateway works with; plug-ins come as ports, wired by the composition root. */
export interface GatewayDeps {
  readonly store: Store;
  readonly artifacts: ArtifactStore;
  readonly clock: Clock;
  readonly sources: readonly DeclaredSource[];
  readonly schemas: SchemaCheck;
  readonly secrets: SecretKeeper;
  /** The policy as it stands now; throws when it cannot be read, which denies every call. */
  policy(): Promise<Policy>;
  /** The roles that a principal has now. */
  rolesOf(principalId: string): readonly string[];
  /** What policies have looked up: files, folders, statements. */
  readonly surroundings: Surroundings;
  /** The session that calls are carried out under. */
  readonly session_id: string;
  /** Resolves when the session is open; it is opened with the first call, so that looking around writes nothing. */
  opened(): Promise<void>;
  /** Something that an operator should know of. */
  note(text: string): void;
}

/** Who answers what policy asks in an evaluation, instead of a person. */
export interface SimulatedOperator {
  /** The answer to one call: after how long, and what; null leaves it unanswered. */
  answer(
    tool: string,
    input: Readonly<Record<string, unknown>>,
  ): { readonly approve: boolean; readonly delay_ms: number; readonly comment: string | null } | null;
}

/** A principal with the token's or the attempt's bounds. */
export interface Caller {
  readonly principal: Principal;
  readonly surface: 'cli' | 'mcp' | 'api' | 'evaluation';
  /** What limits of a session are counted by; unsaid: this process is the session. */
  readonly session?: string;
  /** The attempt that the calls belong to, for evaluations. */
  readonly bound: {
    readonly run_id: string;
    readonly ordinal: number;
    readonly attempt: number;
    readonly lease_id: string;
    readonly agent: string;
    readonly operator: SimulatedOperator;
    /** The policy that the run was planned with. */
    readonly policy: Policy;
    /** The definitions that the run was planned with, by tool: others are not called. */
    readonly definitions: ReadonlyMap<string, string>;
    /** Globs of the tools that the agent may use; null: all that policy allows. */
    readonly tools: readonly string[] | null;
  } | null;
}
