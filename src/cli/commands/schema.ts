import { JSON_SCHEMAS } from '../../adapters/json-schemas.ts';
import { ProctorError } from '../../contract/problem.ts';
import type { Command } from '../context.ts';

/** `proctor schema [NAME]`: a published JSON Schema on stdout; without a name, the names. */
export const schema: Command<{ readonly name?: string }> = async ({ output }, { name }) => {
  const names = Object.keys(JSON_SCHEMAS);
  if (name === undefined) {
    output.result(names, names.join('\n'));
    return 0;
  }
  const make = Object.hasOwn(JSON_SCHEMAS, name) ? JSON_SCHEMAS[name] : undefined;
  if (make === undefined)
    throw new ProctorError('usage', `there is no schema \`${name}\`; there are: ${names.join(', ')}`);
  const document = make();
  output.result(document, JSON.stringify(document, null, 2));
  return 0;
};
