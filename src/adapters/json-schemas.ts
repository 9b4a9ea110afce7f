import { z } from 'zod';
import { envelopeSchema } from '../contract/agent.ts';
import { caseSchema, datasetSchema } from '../contract/case.ts';
import { executionDocumentSchema, runDocumentSchema } from '../contract/documents.ts';
import { findingSchema } from '../contract/evaluator.ts';
import { policySchema, policyTestSchema } from '../contract/policy.ts';
import { AGENT_BASE_MEMBERS, evaluatorReferenceSchema, profileSchema } from '../contract/profile.ts';
import { projectSchema, SOURCE_BASE_MEMBERS } from '../contract/project.ts';
import { approvalDocumentSchema, toolRunDocumentSchema } from '../contract/tool-documents.ts';
import { agentKinds } from './agents/index.ts';
import { evaluatorKinds } from './evaluators/index.ts';
import { toolSourceKinds } from './tools/index.ts';

type Schema = Record<string, unknown>;

const BASE = 'urn:proctor:schema:';

/** Every published JSON Schema by name (draft 2020-12), made from the very shapes that parse the input. */
export const JSON_SCHEMAS: Readonly<Record<string, () => Schema>> = {
  profile: profileJsonSchema,
  dataset: () => plain('dataset', datasetSchema, 'input'),
  case: () => plain('case', caseSchema, 'input'),
  envelope: () => plain('envelope', envelopeSchema, 'input'),
  finding: () => plain('finding', findingSchema, 'input'),
  run_document: () => plain('run_document', runDocumentSchema, 'output'),
  project: projectJsonSchema,
  policy: () => plain('policy', policySchema, 'input'),
  policy_test: () => plain('policy_test', policyTestSchema, 'input'),
  tool_run_document: () => plain('tool_run_document', toolRunDocumentSchema, 'output'),
  approval_document: () => plain('approval_document', approvalDocumentSchema, 'output'),
  execution_document: () => plain('execution_document', executionDocumentSchema, 'output'),
};

/** JSON Schema of a shape; a place for any JSON is `{}`, so that no reference crosses from one schema into another. */
function toJson(schema: z.ZodType, io: 'input' | 'output'): Schema {
  const made = z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      if (zodSchema._zod.def.type === 'lazy')
        for (const key of Object.keys(jsonSchema)) delete (jsonSchema as Schema)[key];
    },
  }) as Schema;
  const { $defs = {}, ...rest } = made as Schema & { $defs?: Record<string, Schema> };
  const isEmpty = (name: string) => Object.keys($defs[name] ?? { missing: true }).length === 0;
  const kept = Object.fromEntries(Object.entries($defs).filter(([name]) => !isEmpty(name)));
  const whole = Object.keys(kept).length > 0 ? { ...rest, $defs: kept } : rest;
  return inlined(whole, (reference) => isEmpty(reference.slice('#/$defs/'.length))) as Schema;
}

/** The schema with `{}` for every reference that is meant. */
function inlined(node: unknown, meant: (reference: string) => boolean): unknown {
  if (Array.isArray(node)) return node.map((item) => inlined(item, meant));
  if (typeof node !== 'object' || node === null) return node;
  const { $ref, ...rest } = node as Schema;
  const own = typeof $ref === 'string' && meant($ref) ? rest : node;
  return Object.fromEntries(Object.entries(own).map(([key, value]) => [key, inlined(value, meant)]));
}

function plain(name: string, schema: z.ZodType, io: 'input' | 'output'): Schema {
  const { $ref, $defs, $schema, ...rest } = toJson(schema, io) as Schema & {
    $ref?: string;
    $defs?: Record<string, Schema>;
  };
  // A shape with an id comes out as a reference to itself; what it refers to is the schema.
  const own = $ref === undefined ? undefined : $ref.slice('#/$defs/'.length);
  const { [own ?? '']: body, ...others } = $defs ?? {};
  const { id: _id, $schema: _dialect, ...shape } = body ?? rest;
  return { $schema, $id: BASE + name, ...shape, ...(Object.keys(others).length > 0 ? { $defs: others } : {}) };
}

/** The profile's schema with the members of every agent kind and the config of every evaluator, so that an editor completes them. */
function profileJsonSchema(): Schema {
  const schema = plain('profile', profileSchema, 'input') as Schema & { properties: Record<string, Schema> };
  const agent = schema.properties['agent'] ?? {};
  const kinds = agentKinds.map((kind) => {
    const own = toJson(kind.config, 'input');
    const { $schema: _dialect, additionalProperties: _open, ...rest } = own;
    return {
      if: { properties: { kind: { const: kind.kind } }, required: ['kind'] },
      // biome-ignore lint/suspicious/noThenProperty: JSON Schema's keyword
      then: { ...rest, properties: { ...(rest['properties'] as Schema | undefined) } },
    };
  });
  const members = new Set([...AGENT_BASE_MEMBERS, ...kinds.flatMap(({ then }) => Object.keys(then.properties))]);
  const named = Object.fromEntries(
    [...members].map((name) => [name, (agent['properties'] as Record<string, Schema>)[name] ?? true]),
  );
  (named as Record<string, Schema>)['kind'] = {
    enum: agentKinds.map((kind) => kind.kind),
    description: 'The agent kind',
  };
  withDurationTwins(schema);
  schema.properties['agent'] = { ...agent, properties: named, additionalProperties: false, allOf: kinds };
  return withEvaluators(schema);
}

/** The project's schema with the members of every kind of tool source. */
function projectJsonSchema(): Schema {
  const schema = plain('project', projectSchema, 'input') as Schema & { properties: Record<string, Schema> };
  const tools = schema.properties['tools'] as Schema & { additionalProperties: Schema };
  const source = tools.additionalProperties;
  const kinds = toolSourceKinds.map((kind) => {
    const { $schema: _dialect, additionalProperties: _open, ...own } = toJson(kind.config, 'input');
    return {
      if: { properties: { kind: { const: kind.kind } }, required: ['kind'] },
      // biome-ignore lint/suspicious/noThenProperty: JSON Schema's keyword
      then: { ...own, properties: { ...(own['properties'] as Schema | undefined) } },
    };
  });
  const members = new Set([...SOURCE_BASE_MEMBERS, ...kinds.flatMap(({ then }) => Object.keys(then.properties))]);
  const base = source['properties'] as Record<string, Schema>;
  const properties = Object.fromEntries([...members].map((name) => [name, base[name] ?? true]));
  const kind = { enum: toolSourceKinds.map((one) => one.kind), description: 'The kind of tool source' };
  tools.additionalProperties = {
    ...source,
    properties: { ...properties, kind },
    additionalProperties: false,
    allOf: kinds,
  };
  return schema;
}

/** Beside every `x_ms` of `defaults` and `limits` its twins `x_secs` and `x_minutes`, which are accepted on input. */
function withDurationTwins(schema: Schema): void {
  const properties = (node: unknown) => (node as { properties?: Record<string, Schema> } | undefined)?.properties;
  const top = properties(schema);
  const limits = properties(top?.['limits']);
  for (const members of [
    properties(top?.['defaults']),
    properties(limits?.['execution']),
    properties(limits?.['run']),
  ]) {
    for (const [name, member] of Object.entries(members ?? {})) {
      if (members === undefined || !name.endsWith('_ms')) continue;
      for (const [unit, of] of [
        ['secs', 'seconds'],
        ['minutes', 'minutes'],
      ] as const)
        members[name.replace(/_ms$/, `_${unit}`)] = {
          type: 'number',
          exclusiveMinimum: 0,
          description: `${(member['description'] as string | undefined) ?? name}, in ${of} instead`,
        };
    }
  }
}

/** Replaces every evaluator reference's `config` by the config that its `ref` calls for. */
function withEvaluators(schema: Schema): Schema {
  const reference = plain('evaluator', evaluatorReferenceSchema, 'input');
  const refs = evaluatorKinds.map((kind) => {
    const { $schema: _dialect, ...config } = toJson(kind.config, 'input');
    return {
      if: { properties: { ref: { const: `${kind.name}@${kind.version}` } }, required: ['ref'] },
      // biome-ignore lint/suspicious/noThenProperty: JSON Schema's keyword
      then: { properties: { config } },
    };
  });
  const { $id: _id, $schema: _dialect, ...shape } = reference as Schema & { properties: Record<string, Schema> };
  const names = {
    anyOf: [
      { enum: evaluatorKinds.map((kind) => `${kind.name}@${kind.version}`) },
      { pattern: '^(module:.+#.+|command:.+|https?://.+)$' },
    ],
  };
  const full: Schema = {
    ...shape,
    properties: {
      ...shape['properties'],
      ref: { type: 'string', description: 'name@version, module:PATH#EXPORT, command:PATH or https://…', ...names },
    },
    allOf: refs,
  };
  const groups = (schema['properties'] as Record<string, { items?: { properties?: Record<string, Schema> } }>)[
    'case_groups'
  ];
  if (groups?.items?.properties) groups.items.properties['evaluators'] = { type: 'array', minItems: 1, items: full };
  return schema;
}
