import { type SchemaValidator, schemaValidator } from '../evaluators/parts/schema-validator.ts';

/** A value to be checked; the schema is sent along only when the thread has said that it does not know it. */
interface Request {
  readonly key: string;
  readonly schema: Record<string, unknown> | null;
  readonly value: unknown;
}

const KEPT = 500;
const validators = new Map<string, Promise<SchemaValidator>>();

// Loaded with the thread, so that no check pays for it out of its budget.
await schemaValidator({ type: 'object' }, { unknown_keywords: 'ignore' });

/** Runs in a thread that is ended when a schema takes too long: where the value does not fit, or `unknown` for a schema not yet sent. */
export async function check({ key, schema, value }: Request): Promise<unknown> {
  let validator = validators.get(key);
  if (validator === undefined) {
    if (schema === null) return { type: 'unknown' };
    validator = schemaValidator(schema, { unknown_keywords: 'ignore' });
    validators.set(key, validator);
    if (validators.size > KEPT) validators.delete(validators.keys().next().value ?? '');
  }
  try {
    const faults = (await validator).faults(value, false);
    return { type: 'checked', faults: faults.slice(0, 5) };
  } catch (error) {
    return { type: 'refused', message: error instanceof Error ? error.message : String(error) };
  }
}
