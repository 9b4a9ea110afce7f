import { ProctorError } from '../../contract/problem.ts';
import {
  type ListedTools,
  NO_HINTS,
  type ToolDefinition,
  type ToolHints,
  toolNameSchema,
} from '../../contract/tool.ts';
import { canonicalJson } from '../../lib/canonical-json.ts';

const MOST_TOOLS = 1_000;
const MOST_DESCRIPTION = 20_000;
const MOST_DEFINITION_BYTES = 512 * 1024;

/** The raw description of a tool, in the members of MCP (`inputSchema`, `outputSchema`, `annotations`). */
export type RawTool = Readonly<Record<string, unknown>>;

/**
 * Tools from what a source says of them. A name that is not plain ASCII, one that stands twice, a schema that is none and a description
 * beyond all measure are refused; the other tools of the source stay.
 */
export function describedTools(raws: readonly unknown[]): ListedTools {
  const tools: ToolDefinition[] = [];
  const refused: { name: string; reason: string }[] = [];
  const count = new Map<unknown, number>();
  for (const raw of raws) {
    const name = (raw as RawTool | null)?.['name'];
    count.set(name, (count.get(name) ?? 0) + 1);
  }
  for (const raw of raws.slice(0, MOST_TOOLS)) {
    const { name } = (raw ?? {}) as RawTool;
    const reason = (count.get(name) ?? 0) > 1 ? 'duplicate name: there is no telling which tool is meant' : whyNot(raw);
    const shown = typeof name === 'string' ? name.slice(0, 80) : '(no name)';
    if (reason === null) tools.push(definitionOf(raw as RawTool));
    else if (!refused.some((other) => other.name === shown)) refused.push({ name: shown, reason });
  }
  if (raws.length > MOST_TOOLS)
    refused.push({ name: '…', reason: `${raws.length} tools are listed; only the first ${MOST_TOOLS} are looked at` });
  return { tools, refused };
}

function whyNot(raw: unknown): string | null {
  if (typeof raw !== 'object' || raw === null || Array.isArray(raw)) return 'it is not an object';
  const { name, description, inputSchema, outputSchema, title } = raw as RawTool;
  if (!toolNameSchema.safeParse(name).success) return 'its name is not 1 to 64 ASCII letters, digits, `_`, `-` or `.`';
  if (description !== undefined && typeof description !== 'string') return 'its description is not a string';
  if (title !== undefined && title !== null && typeof title !== 'string') return 'its title is not a string';
  if (typeof description === 'string' && description.length > MOST_DESCRIPTION)
    return `its description has ${description.length} characters; the most is ${MOST_DESCRIPTION}`;
  if (!isSchema(inputSchema)) return 'its input schema is no JSON Schema of an object';
  if (outputSchema !== undefined && outputSchema !== null && !isObject(outputSchema))
    return 'its output schema is no JSON Schema';
  try {
    const bytes = canonicalJson(raw).length;
    return bytes > MOST_DEFINITION_BYTES
      ? `its definition has ${bytes} characters; the most is ${MOST_DEFINITION_BYTES}`
      : null;
  } catch (error) {
    return error instanceof TypeError || error instanceof RangeError ? error.message : String(error);
  }
}

function isSchema(schema: unknown): boolean {
  return isObject(schema) && (schema['type'] === undefined || schema['type'] === 'object');
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function definitionOf(raw: RawTool): ToolDefinition {
  const { name, title, description, inputSchema, outputSchema, annotations, icons, _meta } = raw;
  const passed = Object.fromEntries(
    Object.entries({ annotations, icons, _meta }).filter(([, value]) => value !== undefined),
  );
  return {
    name: name as string,
    title: typeof title === 'string' ? title : null,
    description: typeof description === 'string' ? description : '',
    input_schema: inputSchema as Record<string, unknown>,
    output_schema: isObject(outputSchema) ? outputSchema : null,
    hints: hintsOf(annotations),
    raw,
    passed: Object.keys(passed).length === 0 ? null : passed,
  };
}

function hintsOf(annotations: unknown): ToolHints {
  if (!isObject(annotations)) return NO_HINTS;
  const hint = (name: string) => (typeof annotations[name] === 'boolean' ? annotations[name] : null);
  return {
    read_only: hint('readOnlyHint'),
    destructive: hint('destructiveHint'),
    idempotent: hint('idempotentHint'),
    open_world: hint('openWorldHint'),
  };
}

/** The error of a source that cannot be used. */
export function unavailable(source: string, what: string, cause?: unknown): ProctorError {
  return new ProctorError('source_unavailable', `the tool source \`${source}\` ${what}`, { cause });
}
