import { isMembers, type Members, type OperationBinding, Unusable } from './openapi-binding.ts';
import { followed } from './openapi-reference.ts';
import type { SchemaTranslator } from './openapi-schema.ts';

/** What an operation answers with, as far as it can be held to it. */
export interface Output {
  readonly binding: OperationBinding['output'];
  readonly schema: Readonly<Record<string, unknown>> | null;
  readonly accept: string;
}

const MOST_OUTPUT = 64 * 1024;
const MOST_ACCEPTED = 8;
const MEDIA_RANGE = /^[\w!#$&^.+-]+\/[\w!#$&^.+*-]+$/;
const JSON_TYPE = /^application\/([\w.-]+\+)?json\b/i;

/** Reads the responses: an answer is checked where the document says one thing of success, and that is JSON with a schema. */
export function operationOutput(
  root: Members,
  method: string,
  responses: unknown,
  schemas: SchemaTranslator,
  check: boolean,
): Output {
  try {
    return outputOf(successes(root, responses), method, schemas, check);
  } catch (error) {
    // What cannot be checked does not hinder a call; the reason stands in the definition.
    if (!(error instanceof Unusable)) throw error;
    return { binding: { type: 'unchecked', reason: error.message }, schema: null, accept: '*/*' };
  }
}

function outputOf(found: readonly Members[], method: string, schemas: SchemaTranslator, check: boolean): Output {
  const types = found.flatMap((content) => Object.keys(content));
  const accept = accepted(types);
  const unchecked = (reason: string): Output => ({ binding: { type: 'unchecked', reason }, schema: null, accept });
  if (!check) return unchecked('`check_output` is off');
  if (method === 'HEAD') return unchecked('there is no body');
  const [only, ...more] = found;
  if (only === undefined || more.length > 0) return unchecked(`there are ${found.length} responses of success`);
  const [type, ...others] = Object.keys(only);
  if (type === undefined || others.length > 0 || !JSON_TYPE.test(type)) return unchecked('success is not JSON alone');
  const media = only[type];
  const schema = isMembers(media) ? media['schema'] : undefined;
  if (schema === undefined) return unchecked('there is no schema');
  try {
    const wrapped = !schemas.isObject(schema);
    const translated = schemas.translate(schema);
    const $defs = schemas.definitions(translated.uses, MOST_OUTPUT);
    if (JSON.stringify(translated.schema).length > MOST_OUTPUT)
      return unchecked(`its schema has more than ${MOST_OUTPUT} characters`);
    const own = wrapped
      ? { type: 'object', properties: { result: translated.schema }, required: ['result'] }
      : { type: 'object', ...(isMembers(translated.schema) ? translated.schema : {}) };
    const whole = Object.keys($defs).length === 0 ? own : { ...own, $defs };
    return { binding: { type: 'checked', wrapped }, schema: whole, accept };
  } catch (error) {
    if (!(error instanceof Unusable)) throw error;
    return unchecked(error.message);
  }
}

/** The contents of the responses of success. */
function successes(root: Members, responses: unknown): Members[] {
  if (!isMembers(responses)) return [];
  return Object.entries(responses)
    .filter(([status]) => /^2(\d\d|XX)$/i.test(status))
    .map(([, response]) => {
      const { content } = followed(root, response, 'a response');
      return isMembers(content) ? content : {};
    });
}

/** JSON before anything else, whatever is offered after what is described. */
function accepted(types: readonly string[]): string {
  const fit = [...new Set(types.map((type) => type.split(';')[0]?.trim() ?? ''))].filter((type) =>
    MEDIA_RANGE.test(type),
  );
  const json = fit.filter((type) => JSON_TYPE.test(type));
  const others = fit.filter((type) => !json.includes(type) && type !== '*/*');
  const named = [...(json.length === 0 ? ['application/json'] : json), ...others.map((type) => `${type};q=0.8`)];
  return [...named.slice(0, MOST_ACCEPTED), '*/*;q=0.1'].join(', ');
}
