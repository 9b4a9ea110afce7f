import { isMembers, type Members, type ParameterBinding, type Place, type Style, Unusable } from './openapi-binding.ts';
import { FRAMING_HEADERS, TOKEN } from './openapi-http.ts';
import { argumentNames } from './openapi-names.ts';
import { followed } from './openapi-reference.ts';
import type { SchemaTranslator } from './openapi-schema.ts';

/** What the operator sends with every call: parameters of these names are no arguments. */
export interface Supplied {
  /** In lower case. */
  readonly headers: readonly string[];
  readonly query: readonly string[];
}

/** The parameters of an operation as arguments of its tool. */
export interface Parameters {
  readonly bindings: readonly ParameterBinding[];
  readonly properties: Readonly<Record<string, unknown>>;
  readonly required: readonly string[];
  readonly uses: ReadonlySet<string>;
}

interface Declared {
  readonly name: string;
  readonly in: Place;
  readonly members: Members;
}

const STYLES: Readonly<Record<Place, readonly Style[]>> = {
  path: ['simple', 'label', 'matrix'],
  query: ['form', 'spaceDelimited', 'pipeDelimited', 'deepObject'],
  header: ['simple'],
  cookie: ['form'],
};
const BODY = 'body';

/** Reads the parameters that an operation and its path declare; the operation's own hide those of the path. */
export function operationParameters(
  root: Members,
  lists: readonly unknown[],
  supplied: Supplied,
  schemas: SchemaTranslator,
): Parameters {
  const declared = declaredParameters(root, lists).filter((parameter) => !suppliedOtherwise(parameter, supplied));
  const names = argumentNames(declared, [BODY]);
  const properties: Record<string, unknown> = {};
  const required: string[] = [];
  const uses = new Set<string>();
  const bindings = declared.map((parameter, index): ParameterBinding => {
    const argument = names[index] ?? '';
    const { schema, json } = valueSchema(parameter);
    const translated = schemas.translate(schema);
    for (const pointer of translated.uses) uses.add(pointer);
    properties[argument] = described(translated.schema, parameter, argument);
    if (parameter.in === 'path' || parameter.members['required'] === true) required.push(argument);
    return { argument, in: parameter.in, json, ...writingOf(parameter) };
  });
  return { bindings, properties, required, uses };
}

/** How a parameter, or a field of a form by its encoding, is written. */
function writingOf({ name, in: place, members }: Declared): Omit<ParameterBinding, 'argument' | 'in' | 'json'> {
  const style = (members['style'] ?? STYLES[place][0]) as Style;
  if (!STYLES[place].includes(style))
    throw new Unusable(`its ${place} parameter \`${name}\` has the style \`${String(style).slice(0, 40)}\``);
  const explode = typeof members['explode'] === 'boolean' ? members['explode'] : style === 'form';
  return { name, style, explode, reserved: place === 'query' && members['allowReserved'] === true };
}

function declaredParameters(root: Members, lists: readonly unknown[]): Declared[] {
  const found = new Map<string, Declared>();
  for (const list of lists) {
    if (list === undefined) continue;
    if (!Array.isArray(list)) throw new Unusable('its parameters are no list');
    const here = new Set<string>();
    for (const item of list) {
      const members = followed(root, item, 'a parameter');
      const { name, in: place } = members;
      if (typeof name !== 'string' || name === '') throw new Unusable('it has a parameter without a name');
      if (typeof place !== 'string' || !Object.hasOwn(STYLES, place))
        throw new Unusable(
          `its parameter \`${name.slice(0, 80)}\` has an unknown place \`${String(place).slice(0, 40)}\``,
        );
      const key = `${place} ${place === 'header' ? name.toLowerCase() : name}`;
      if (here.has(key)) throw new Unusable(`duplicate ${place} parameter \`${name.slice(0, 80)}\``);
      here.add(key);
      found.set(key, { name, in: place as Place, members });
    }
  }
  return [...found.values()];
}

/** Headers that are negotiated or set by the operator are none of the caller's; those that frame the message are nobody's. */
function suppliedOtherwise({ name, in: place }: Declared, { headers, query }: Supplied): boolean {
  if (place === 'query') return query.includes(name);
  if (place === 'path') return false;
  if (!TOKEN.test(name))
    throw new Unusable(`its ${place} parameter \`${name.slice(0, 80)}\` has a name that cannot be sent`);
  if (place === 'cookie') return headers.includes('cookie');
  const lower = name.toLowerCase();
  if (['accept', 'content-type', 'authorization', 'idempotency-key'].includes(lower)) return true; // as OpenAPI says, and Proctor's key
  if (FRAMING_HEADERS.has(lower) || lower === 'cookie')
    throw new Unusable(`its header parameter \`${name}\` is not for callers to set`);
  return headers.includes(lower);
}

/** The schema of a parameter's value, which may be given as the content of a media type. */
function valueSchema({ name, members: { schema, content } }: Declared): { schema: unknown; json: boolean } {
  if (content === undefined) return { schema: schema ?? {}, json: false };
  const [entry, ...more] = isMembers(content) ? Object.entries(content) : [];
  if (
    entry === undefined ||
    more.length > 0 ||
    !isMembers(entry[1]) ||
    !/^application\/([\w.+-]+\+)?json\b/i.test(entry[0])
  )
    throw new Unusable(`its parameter \`${name.slice(0, 80)}\` has a content that is not one of JSON`);
  return { schema: entry[1]['schema'] ?? {}, json: true };
}

/** The schema of an argument, with what the parameter says of itself, and its real name where the argument has another. */
function described(schema: unknown, { name, in: place, members }: Declared, argument: string): unknown {
  const own = isMembers(schema) ? schema : {};
  const said = typeof members['description'] === 'string' ? members['description'] : own['description'];
  const renamed = argument === name ? [] : [`(${place} parameter \`${name}\`)`];
  const text = [said, ...renamed].filter((part) => typeof part === 'string' && part !== '').join(' ');
  if (schema === false) return false;
  return text === '' ? (schema === true ? {} : own) : { ...own, description: text };
}
