import { parseStrictJson } from '../../lib/strict-json.ts';
import { isMembers, type Members, Unusable } from './openapi-binding.ts';

const MOST_DEPTH = 200;
const MOST_VALUES = 2_000_000;
const MOST_ALIASES = 100;

/** An OpenAPI document in memory. */
export interface OpenapiDocument {
  readonly root: Members;
  /** 3.0 has a dialect of its own for schemas, 3.1 has JSON Schema. */
  readonly version: '3.0' | '3.1';
}

/** Reads the text of a document: YAML or JSON, duplicate keys, alias bombs, cycles and excess of depth refused. */
export async function readOpenapi(text: string): Promise<OpenapiDocument> {
  const value = /^\s*\{/.test(text) ? fromJson(text) : await fromYaml(text);
  refuseExcess(value);
  if (!isMembers(value)) throw new Unusable('is not a mapping');
  const { openapi, swagger, jsonSchemaDialect } = value;
  if (swagger !== undefined)
    throw new Unusable(`is Swagger ${String(swagger).slice(0, 20)}; convert it to OpenAPI 3.0 or 3.1`);
  const version = typeof openapi === 'string' ? /^(3\.[01])\.\d+(-.*)?$/.exec(openapi)?.[1] : undefined;
  if (version !== '3.0' && version !== '3.1')
    throw new Unusable(
      `says \`openapi: ${JSON.stringify(openapi)?.slice(0, 40)}\`; versions 3.0.x and 3.1.x can be read, written as a text`,
    );
  if (jsonSchemaDialect !== undefined && !DIALECT.test(String(jsonSchemaDialect)))
    throw new Unusable(`has schemas of the dialect \`${String(jsonSchemaDialect).slice(0, 100)}\`; use 2020-12`);
  return { root: value, version };
}

const DIALECT =
  /^https:\/\/(spec\.openapis\.org\/oas\/3\.1\/dialect\/base|json-schema\.org\/draft\/2020-12\/schema)#?$/;

function fromJson(text: string): unknown {
  const parsed = parseStrictJson(text, { max_depth: MOST_DEPTH, ignore_numbers_at: () => true });
  const [issue] = parsed.issues;
  if (parsed.type === 'value' && issue === undefined) return parsed.value;
  throw new Unusable(`is not plain JSON: line ${issue?.line}, column ${issue?.column}: ${issue?.message}`);
}

async function fromYaml(text: string): Promise<unknown> {
  const { isMap, parseDocument, visit } = await import('yaml');
  // The library compares every pair of keys, which takes a minute for 60,000 paths; a set takes none.
  const document = parseDocument(text, { uniqueKeys: false, strict: true, prettyErrors: false });
  const [fault] = [...document.errors, ...document.warnings];
  if (fault !== undefined) throw new Unusable(`is not plain YAML: ${placed(text, fault.pos[0])}: ${fault.message}`);
  visit(document, {
    Map(_, map) {
      const keys = new Set<string>();
      for (const { key } of map.items) {
        const { value, range } = (key ?? {}) as { value?: unknown; range?: readonly number[] };
        const at = () => placed(text, range?.[0] ?? 0);
        if (key === null || isMap(key) || typeof value === 'object')
          throw new Unusable(`has a key that is not a string: ${at()}`);
        const name = String(value);
        if (keys.has(name)) throw new Unusable(`has the key \`${name.slice(0, 80)}\` twice: ${at()}`);
        if (name === '<<') throw new Unusable(`has a merge key \`<<\`, which YAML 1.2 has not: ${at()}`);
        keys.add(name);
      }
    },
  });
  try {
    return document.toJS({ maxAliasCount: MOST_ALIASES });
  } catch (error) {
    throw new Unusable(`cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function placed(text: string, offset: number): string {
  const before = text.slice(0, offset);
  return `line ${before.split('\n').length}, column ${offset - before.lastIndexOf('\n')}`;
}

/** An alias may stand within what it names, and aliases of aliases multiply: a walk that is bounded finds both. */
function refuseExcess(root: unknown): void {
  let values = 0;
  const walk = (value: unknown, depth: number): void => {
    values += 1;
    if (values > MOST_VALUES)
      throw new Unusable(`has more than ${MOST_VALUES} values, aliases counted as often as used`);
    if (depth > MOST_DEPTH) throw new Unusable(`is nested deeper than ${MOST_DEPTH} levels`);
    if (typeof value !== 'object' || value === null) return;
    for (const member of Object.values(value)) walk(member, depth + 1);
  };
  walk(root, 0);
}
