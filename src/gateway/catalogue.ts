import { ProctorError } from '../contract/problem.ts';
import type { DeclaredSource } from '../contract/project.ts';
import type { ListedTools, RiskClass, ToolDefinition, ToolHints, ToolSource } from '../contract/tool.ts';
import { untilAborted } from '../lib/abort.ts';
import { canonicalJson, digest } from '../lib/canonical-json.ts';
import { globMatches } from '../lib/glob.ts';
import type { GatewayDeps } from './ports.ts';

/** A tool that there is, with what the operator says of it. */
export interface CatalogueTool {
  /** `source.tool`. */
  readonly tool: string;
  readonly source: DeclaredSource;
  readonly definition: ToolDefinition;
  readonly digest: string;
  readonly risk: RiskClass;
  readonly open_world: boolean;
  readonly timeout_ms: number;
  readonly cost_micro_usd: number;
}

/** What the sources list, and what of it cannot be used. */
export interface CatalogueListing {
  readonly tools: readonly CatalogueTool[];
  readonly problems: readonly { readonly source: string; readonly tool: string | null; readonly message: string }[];
}

interface Opened {
  readonly source: Promise<ToolSource>;
  listed: { readonly at: number; readonly tools: Promise<SourceListing> } | null;
  /** The listing that is being made: who asks meanwhile gets it too. */
  asking: Promise<SourceListing> | null;
}

interface SourceListing {
  readonly tools: readonly CatalogueTool[];
  readonly refused: ListedTools['refused'];
}

const FRESH_MS = 60_000;
const LIST_MS = 60_000;
const DEFAULT_TIMEOUT_MS = 60_000;

/** The tools of the project: sources are opened when they are first asked, listed once a minute or when they say that they changed. */
export class Catalogue {
  readonly #deps: GatewayDeps;
  readonly #opened = new Map<string, Opened>();

  constructor(deps: GatewayDeps) {
    this.#deps = deps;
  }

  /** The tool of a name; null when there is none. Throws `source_unavailable` when its source cannot be asked. */
  async find(tool: string, signal: AbortSignal): Promise<CatalogueTool | null> {
    const [name] = tool.split('.', 1);
    const source = this.#deps.sources.find((one) => one.name === name);
    if (source === undefined) return null;
    const { tools } = await untilAborted(this.#listing(source), signal);
    return tools.find((one) => one.tool === tool) ?? null;
  }

  /** Every tool; a source that cannot be asked is a problem and the others stay. */
  async list(signal: AbortSignal, fresh = false): Promise<CatalogueListing> {
    const { secrets } = this.#deps;
    const tools: CatalogueTool[] = [];
    const problems: CatalogueListing['problems'][number][] = [];
    await Promise.all(
      this.#deps.sources.map(async (source) => {
        try {
          const listing = await untilAborted(this.#listing(source, fresh), signal);
          tools.push(...listing.tools);
          for (const { name, reason } of listing.refused)
            problems.push({ source: source.name, tool: secrets.text(name), message: secrets.text(reason) });
        } catch (error) {
          if (!ProctorError.is(error)) throw error;
          problems.push({ source: source.name, tool: null, message: secrets.text(error.message) });
        }
      }),
    );
    return { tools: tools.sort((a, b) => (a.tool < b.tool ? -1 : 1)), problems };
  }

  /** The opened source of a tool. */
  source(declared: DeclaredSource): Promise<ToolSource> {
    return this.#open(declared).source;
  }

  /** Who asks next for the tools of a source gets them as it shows them then. */
  forget(source: string): void {
    const opened = this.#opened.get(source);
    if (opened !== undefined) opened.listed = null;
  }

  async close(): Promise<void> {
    await Promise.allSettled([...this.#opened.values()].map(async ({ source }) => await (await source).close()));
  }

  #open(declared: DeclaredSource): Opened {
    let opened = this.#opened.get(declared.name);
    if (opened === undefined) {
      const entry: Opened = {
        source: declared.open(() => {
          entry.listed = null;
        }),
        listed: null,
        asking: null,
      };
      entry.source.catch(() => this.#opened.delete(declared.name)); // what failed once may be there the next time
      opened = entry;
      this.#opened.set(declared.name, opened);
    }
    return opened;
  }

  #listing(declared: DeclaredSource, fresh = false): Promise<SourceListing> {
    const opened = this.#open(declared);
    const now = this.#deps.clock.monotonic();
    if (!fresh && opened.listed !== null && now - opened.listed.at < FRESH_MS) return opened.listed.tools;
    if (opened.asking !== null) return opened.asking;
    // Who asks first may go away; others wait for the same listing.
    const tools = this.#ask(declared, opened, AbortSignal.timeout(LIST_MS));
    const listed = { at: now, tools };
    opened.listed = listed;
    opened.asking = tools;
    tools
      .catch(() => {
        if (opened.listed === listed) opened.listed = null;
      })
      .finally(() => {
        opened.asking = null;
      });
    return tools;
  }

  async #ask(declared: DeclaredSource, opened: Opened, signal: AbortSignal): Promise<SourceListing> {
    const { tools, refused } = await (await opened.source).listTools(signal);
    const { only } = declared.options;
    const kept = tools.filter(({ name }) => only === undefined || only.some((glob) => globMatches(glob, name)));
    const { secrets } = this.#deps;
    // What a server was handed as a secret must not come back as a description that is kept and shown.
    const spoilt = kept.filter(({ raw }) => secrets.json(raw) !== raw);
    const known = kept.filter((one) => !spoilt.includes(one)).map((definition) => catalogueTool(declared, definition));
    await this.#show(declared, known);
    const reason = 'its definition holds the value of a secret';
    return { tools: known, refused: [...refused, ...spoilt.map(({ name }) => ({ name: secrets.text(name), reason }))] };
  }

  /** Keeps what is shown for the first time; most listings show what is pinned and write nothing. */
  async #show(declared: DeclaredSource, tools: readonly CatalogueTool[]): Promise<void> {
    const { store, note } = this.#deps;
    const pins = new Map((await store.pins(declared.name)).map((pin) => [pin.name, pin.digest]));
    const other = tools.filter(({ definition, digest: shown }) => pins.get(definition.name) !== shown);
    if (other.length === 0) return;
    const shown = other.map(({ definition, digest: name }) => ({
      name: definition.name,
      digest: name,
      body: canonicalJson(definition.raw),
    }));
    const fresh = await store.showDefinitions(declared.name, shown, declared.own);
    if (!declared.own && fresh.length > 0)
      note(
        `${fresh.length === 1 ? `the tool \`${declared.name}.${fresh[0]?.name}\` is` : `${fresh.length} tools of \`${declared.name}\` are`} new or changed: not callable until \`proctor tool pin ${declared.name}\``,
      );
  }
}

function catalogueTool(source: DeclaredSource, definition: ToolDefinition): CatalogueTool {
  const { options, own } = source;
  const hints = options.trusted || own ? definition.hints : null;
  return {
    tool: `${source.name}.${definition.name}`,
    source,
    definition,
    digest: digest('proctor/tool_definition/1', definition.raw),
    risk:
      said<RiskClass>(options.risk, definition.name) ??
      ownRisk(definition, own) ??
      hintedRisk(hints) ??
      'execute_gated',
    open_world: said<boolean>(options.open_world, definition.name) ?? hints?.open_world ?? !own,
    timeout_ms: said<number>(options.timeout_ms, definition.name) ?? DEFAULT_TIMEOUT_MS,
    cost_micro_usd: Math.round((said<number>(options.cost_usd, definition.name) ?? 0) * 1e6),
  };
}

/** What the operator says of a tool: one value for all, or by glob, of which the last that matches counts. */
function said<Value extends string | number | boolean>(
  setting: Value | Readonly<Record<string, Value>> | undefined,
  name: string,
): Value | null {
  if (setting === undefined) return null;
  if (typeof setting !== 'object') return setting;
  return Object.entries(setting).findLast(([glob]) => globMatches(glob, name))?.[1] ?? null;
}

/** A module of the project may say the class itself: it is the operator's own word. */
function ownRisk({ raw }: ToolDefinition, own: boolean): RiskClass | null {
  const risk = own ? (raw as { risk?: unknown }).risk : undefined;
  return risk === 'read_only' || risk === 'write' || risk === 'execute_gated' || risk === 'privileged' ? risk : null;
}

function hintedRisk(hints: ToolHints | null): RiskClass | null {
  if (hints === null) return null;
  if (hints.read_only === true) return 'read_only';
  return hints.destructive === false ? 'write' : null;
}
