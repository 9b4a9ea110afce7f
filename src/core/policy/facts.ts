import type { Principal } from '../../contract/principal.ts';
import type { RiskClass } from '../../contract/tool.ts';

/** Where a call came in. */
export const SURFACES = ['cli', 'mcp', 'api', 'evaluation'] as const;
export type Surface = (typeof SURFACES)[number];

/** Everything a policy may look at of one call. */
export interface CallFacts {
  /** `source.tool`. */
  readonly tool: string;
  readonly source: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly principal: Principal;
  /** The agent's name where the call belongs to an evaluation, else null. */
  readonly agent: string | null;
  readonly risk: RiskClass;
  /** Whether the tool's definition is the one that was approved. */
  readonly pinned: boolean;
  /** Whether the call belongs to an execution of an evaluation run. */
  readonly bound: boolean;
  /** Whether a tool of the open world has answered in the same execution (or lately, to the same principal) before. */
  readonly tainted: boolean;
  readonly surface: Surface;
  /** Where an absolute path really leads, links followed; null when that cannot be told. */
  realPath(path: string): string | null;
}
