import type { Principal } from '../../contract/principal.ts';
import type { SqlDialect, SqlStatement } from '../../contract/sql.ts';
import type { RiskClass } from '../../contract/tool.ts';

/** Where a call came in. */
export const SURFACES = ['cli', 'mcp', 'api', 'evaluation'] as const;
export type Surface = (typeof SURFACES)[number];

/** A folder that a policy names: its absolute path, and where that really leads. */
export interface Folder {
  readonly path: string;
  readonly real: string;
}

/** What a policy has to have looked up for it: the files there are, and what statements say. */
export interface Surroundings {
  /** Where an absolute path really leads, links followed; null when that cannot be told, or when the file there has other names too. */
  realPath(path: string): string | null;
  /** A folder as a policy names it, `./` from the project's; null when it cannot be told. */
  folder(name: string): Folder | null;
  /** The statements of a text, null when it cannot be read without doubt. */
  sql(text: string, dialect: SqlDialect): readonly SqlStatement[] | null;
}

/** Everything a policy may look at of one call. */
export interface CallFacts extends Surroundings {
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
}
