import { z } from 'zod';
import { type EvaluatorInput, type EvaluatorKind, type Finding, finding } from '../../contract/evaluator.ts';
import { answerJson, type Target, targetSchema } from './parts/answer-json.ts';
import { inProcess } from './parts/in-process.ts';
import { TextTooLong } from './parts/linear-pattern.ts';
import { type SchemaFault, type SchemaValidator, schemaValidator } from './parts/schema-validator.ts';
import { plain } from './parts/shown.ts';

/** Documents up to so many values are checked to the end when they fail; of larger ones the first fault is told. */
const MAX_VALUES_FOR_EVERY_FAULT = 10_000;
const MAX_FAULTS_KEPT = 20;

const config = z.strictObject({
  schema: z
    .record(z.string(), z.json())
    .describe(
      'JSON Schema, draft 2020-12, or draft-07 by its $schema; nothing is fetched, `format` is an annotation, patterns have RE2 syntax, unknown keywords are refused',
    ),
  target: targetSchema,
});

/** Passes when the agent's JSON fits a JSON Schema. */
export const jsonSchema: EvaluatorKind<typeof config> = {
  name: 'json_schema',
  version: 1,
  summary: "The agent's JSON fits a JSON Schema",
  config,
  open: async ({ config }) => {
    const validator = await schemaValidator(config.schema);
    return inProcess((input) => grade(input, validator, config.target));
  },
};

function grade(input: EvaluatorInput, validator: SchemaValidator, target: Target): Finding {
  const answer = answerJson(input.envelope, target);
  if ('problem' in answer) return finding('failed', answer.problem);
  try {
    let faults = validator.faults(answer.value, false);
    if (faults.length === 0) return finding('passed', `${answer.name} fits the schema`);
    const every = answer.values <= MAX_VALUES_FOR_EVERY_FAULT;
    if (every) faults = validator.faults(answer.value, true);
    return finding('failed', reasonOf(answer.name, faults), {
      evidence: {
        faults: faults.slice(0, MAX_FAULTS_KEPT).map(shownFault),
        faults_found: faults.length,
        every_fault_sought: every,
      },
    });
  } catch (error) {
    // Thrown for a string too long for a `pattern` of the schema: the agent's doing, so it fails.
    if (error instanceof TextTooLong) return finding('failed', `${answer.name} cannot be checked: ${error.message}`);
    throw error;
  }
}

function reasonOf(name: string, faults: readonly SchemaFault[]): string {
  const told = faults.slice(0, 3).map(shownFault);
  const more = faults.length > told.length ? `; ${faults.length - told.length} more` : '';
  return `${name} does not fit the schema: ${told.map(({ path, message }) => `\`${path === '' ? '/' : path}\` ${message}`).join('; ')}${more}`;
}

/** A fault as it is kept: paths and messages hold names that the agent chose. */
function shownFault({ path, keyword, message }: SchemaFault): { path: string; keyword: string; message: string } {
  return { path: plain(path), keyword, message: plain(message) };
}
