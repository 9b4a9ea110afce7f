import {
  type BodyBinding,
  type FieldBinding,
  isMembers,
  type Members,
  type Style,
  Unusable,
} from './openapi-binding.ts';
import { followed } from './openapi-reference.ts';
import type { SchemaTranslator } from './openapi-schema.ts';

/** The body of an operation as the argument `body`. */
export interface Body {
  readonly binding: BodyBinding;
  readonly schema: unknown;
  readonly required: boolean;
}

const MEDIA_TYPE = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(\s*;\s*[\w-]+=("[\w .+-]*"|[\w.+-]+))*$/;
const STYLES: readonly unknown[] = ['form', 'spaceDelimited', 'pipeDelimited', 'deepObject'];

/** Media types that a body can be sent as, the best first; what a range stands for is sent as JSON. */
const FORMS: readonly (readonly [RegExp, BodyBinding['form'], string | null])[] = [
  [/^application\/json\b/i, 'json', null],
  [/^application\/[\w.-]+\+json\b/i, 'json', null],
  [/^application\/x-www-form-urlencoded\b/i, 'urlencoded', 'application/x-www-form-urlencoded'],
  [/^multipart\/form-data\b/i, 'multipart', 'multipart/form-data'],
  [/^text\/plain\b/i, 'text', null],
  [/^(\*|application)\/\*$/, 'json', 'application/json'],
];

/** Reads the request body of an operation; null when it has none, or only an optional one that cannot be sent. */
export function operationBody(root: Members, value: unknown, schemas: SchemaTranslator): Body | null {
  if (value === undefined) return null;
  const body = followed(root, value, 'its request body');
  const content = isMembers(body['content']) ? body['content'] : {};
  const required = body['required'] === true;
  const [chosen] = FORMS.flatMap(([pattern, form, sent]) =>
    Object.keys(content)
      .filter((name) => pattern.test(name))
      .map((name) => ({ name, form, media_type: sent ?? name })),
  );
  if (chosen === undefined) {
    const offered = Object.keys(content).join(', ').slice(0, 200);
    if (required) throw new Unusable(`its body is only taken as \`${offered}\`, which cannot be sent`);
    return null;
  }
  if (!MEDIA_TYPE.test(chosen.media_type))
    throw new Unusable(`\`${chosen.media_type.slice(0, 80)}\` is not a media type`);
  const media = followed(root, content[chosen.name], 'the content of its body');
  const { form, media_type } = chosen;
  const isForm = form === 'urlencoded' || form === 'multipart';
  const schema = isForm ? withoutFiles(media['schema'], schemas) : (media['schema'] ?? {});
  const described = typeof body['description'] === 'string' ? { description: body['description'] } : {};
  const fields = isForm ? fieldsOf(media['encoding']) : [];
  return { binding: { form, media_type, fields }, schema: withText(schema, described), required };
}

/** A description stands beside a reference only within `allOf` in 3.0. */
function withText(schema: unknown, described: { readonly description?: string }): unknown {
  if (!isMembers(schema) || described.description === undefined || schema['description'] !== undefined) return schema;
  return '$ref' in schema ? { ...described, allOf: [schema] } : { ...schema, ...described };
}

/** The schema of a form without the files of it, which no argument can hold; refused when one of those is required. */
function withoutFiles(schema: unknown, schemas: SchemaTranslator): unknown {
  const target = schemas.target(schema);
  if (!isMembers(target) || !isMembers(target['properties'])) return schema ?? { type: 'object' };
  const isFile = (property: unknown, lists = 3): boolean => {
    const found = schemas.target(property);
    if (!isMembers(found)) return false;
    const media = found['contentMediaType'];
    const binary = typeof media === 'string' && found['contentEncoding'] === undefined && !/^text\/|json\b/.test(media);
    return (
      found['format'] === 'binary' ||
      binary ||
      (found['type'] === 'array' && lists > 0 && isFile(found['items'], lists - 1))
    );
  };
  const entries = Object.entries(target['properties']);
  const files = entries.filter(([, property]) => isFile(property)).map(([name]) => name);
  if (files.length === 0) return schema;
  const required: readonly unknown[] = Array.isArray(target['required']) ? target['required'] : [];
  const needed = files.find((name) => required.includes(name));
  if (needed !== undefined)
    throw new Unusable(`its body needs the file \`${needed.slice(0, 80)}\`, which cannot be sent`);
  return { ...target, properties: Object.fromEntries(entries.filter(([name]) => !files.includes(name))) };
}

function fieldsOf(encoding: unknown): FieldBinding[] {
  if (!isMembers(encoding)) return [];
  return Object.entries(encoding).flatMap(([name, how]) => {
    if (!isMembers(how)) return [];
    const { style, explode, allowReserved, contentType } = how;
    if (style !== undefined && !STYLES.includes(style))
      throw new Unusable(
        `the field \`${name.slice(0, 80)}\` of its body has the style \`${String(style).slice(0, 40)}\``,
      );
    const said = [style, explode, allowReserved].some((member) => member !== undefined);
    const plain = (style ?? 'form') as Style;
    const exploded = typeof explode === 'boolean' ? explode : plain === 'form';
    const media = typeof contentType === 'string' && MEDIA_TYPE.test(contentType) ? contentType : null;
    if (!said && media === null) return [];
    const writing = said
      ? { name, style: plain, explode: exploded, reserved: allowReserved === true, json: false }
      : null;
    return [{ name, writing, media_type: media }];
  });
}
