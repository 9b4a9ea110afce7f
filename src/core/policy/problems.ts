import type { Condition, Matcher } from '../../contract/matcher.ts';
import type { PolicyDocument } from '../../contract/policy.ts';
import { CONDITION_SUBJECTS } from '../../contract/policy.ts';
import { type Diagnostic, diagnostic } from '../../contract/problem.ts';
import { RISK_CLASSES } from '../../contract/tool.ts';
import { globMatches } from '../../lib/glob.ts';
import { argumentValueProblems } from './argument-values.ts';
import { argumentPath, isSubject, matchersOf } from './compile.ts';
import { SURFACES } from './facts.ts';
import { plainFolder } from './paths.ts';
import { urlForm } from './urls.ts';

/** A tool that policies are checked against. */
export interface KnownTool {
  /** `source.tool`. */
  readonly tool: string;
  readonly input_schema: Readonly<Record<string, unknown>>;
}

/** What is wrong with a policy beyond its shape, by field; `known` are the tools and `sources` the sources that there are, null where that cannot be told. */
export function policyProblems(
  document: PolicyDocument,
  known: readonly KnownTool[] | null,
  sources: readonly string[] | null = null,
): Diagnostic[] {
  return [
    ...repeated(document.rules, 'rules'),
    ...repeated(document.limits, 'limits'),
    ...document.rules.flatMap((rule, index) =>
      Object.entries(rule.when).flatMap(([subject, condition]) => {
        const field = `rules[${index}].when.${subject}`;
        const tools = known?.filter(({ tool }) => rule.tools.some((glob) => globMatches(glob, tool))) ?? null;
        return [
          ...subjectProblems(subject, condition, field),
          ...sourceProblems(subject, condition, sources, field),
          ...argumentProblems(subject, condition, tools, field),
        ];
      }),
    ),
    ...(known === null
      ? []
      : [...document.rules.entries()].flatMap(([index, { tools }]) =>
          unmatched(tools, known, `rules[${index}].tools`),
        )),
  ];
}

function repeated(items: readonly { readonly id: string }[], at: string): Diagnostic[] {
  return items.flatMap(({ id }, index) =>
    items.findIndex((other) => other.id === id) < index
      ? [
          diagnostic(`duplicate id \`${id}\``, {
            field: `${at}[${index}].id`,
            hint: 'decisions name a rule by its id: give each its own',
          }),
        ]
      : [],
  );
}

function subjectProblems(subject: string, condition: Condition, field: string): Diagnostic[] {
  if (!isSubject(subject))
    return [
      diagnostic(`\`${subject}\` is nothing that a condition can look at`, {
        field,
        hint: `one of: args, args.NAME, ${CONDITION_SUBJECTS.join(', ')}`,
      }),
    ];
  const misplaced = matchersOf(condition).flatMap((matcher) => placeProblems(matcher, field));
  if (misplaced.length > 0) return misplaced;
  const values: readonly string[] | undefined = VALUES[subject];
  const strange = values === undefined ? [] : literals(condition).filter((value) => !values.includes(String(value)));
  return strange.map((value) =>
    diagnostic(`\`${subject}\` is never \`${String(value)}\``, { field, hint: `one of: ${values?.join(', ')}` }),
  );
}

/** Folders and URLs that are not in their plain form: what they mean would be a guess. */
function placeProblems({ under, url }: Matcher, field: string): Diagnostic[] {
  const folders = under !== undefined && plainFolder(under) !== under ? [under] : [];
  const urls = Array.isArray(url) ? url.filter((text) => urlForm(text) === null) : [];
  return [
    ...folders.map((folder) =>
      diagnostic(`\`${folder}\` is not a plain absolute path`, {
        field,
        hint: `write \`${plainFolder(folder) ?? '/folder'}\`, or \`./folder\` for one of the project`,
      }),
    ),
    ...urls.map((text) =>
      diagnostic(`\`${text}\` is not a plain URL`, {
        field,
        hint: 'write `https://host/path`, without user, query and fragment, and as a browser would show it',
      }),
    ),
  ];
}

/** Subjects with a closed list of values. */
const VALUES: Readonly<Record<string, readonly string[]>> = {
  risk: RISK_CLASSES,
  surface: SURFACES,
  'principal.kind': ['human', 'agent', 'service'],
  pinned: ['true', 'false'],
  'run.bound': ['true', 'false'],
  'run.tainted': ['true', 'false'],
};

function literals(condition: Condition): readonly unknown[] {
  if (Array.isArray(condition)) return condition;
  if (typeof condition !== 'object' || condition === null) return [condition];
  if ('not' in condition) return literals(condition.not as Condition);
  return [...(condition.eq === undefined ? [] : [condition.eq]), ...(condition.in ?? [])];
}

/** Sources that there are none of. */
function sourceProblems(
  subject: string,
  condition: Condition,
  sources: readonly string[] | null,
  field: string,
): Diagnostic[] {
  if (subject !== 'source' || sources === null) return [];
  return literals(condition)
    .filter((value) => !sources.includes(String(value)))
    .map((value) =>
      diagnostic(`no source is named \`${String(value)}\``, { field, hint: `one of: ${sources.join(', ')}` }),
    );
}

/** An argument that none of the rule's tools has, or that never is what the condition wants: it could never be told. */
function argumentProblems(
  subject: string,
  condition: Condition,
  tools: readonly KnownTool[] | null,
  field: string,
): Diagnostic[] {
  const path = argumentPath(subject);
  if (path === null || path.length === 0 || tools === null || tools.length === 0) return [];
  if (tools.some(({ input_schema }) => hasArgument(input_schema, path)))
    return argumentValueProblems(
      path,
      tools.map(({ input_schema }) => input_schema),
      condition,
      field,
    );
  const names = [...new Set(tools.flatMap(({ input_schema }) => members(input_schema)))];
  const whose = tools.length === 1 ? `\`${tools[0]?.tool}\` has` : `the ${tools.length} tools of this rule have`;
  return [
    diagnostic(`${whose} no argument \`${path.join('.')}\``, {
      field,
      hint: names.length === 0 ? 'take the condition out' : `known: ${names.slice(0, 12).join(', ')}`,
    }),
  ];
}

/** Whether a schema may have the argument: it is declared, or the schema leaves room for it by other means than `properties`. */
function hasArgument(schema: unknown, path: readonly string[]): boolean {
  const [name, ...rest] = path;
  if (name === undefined || typeof schema !== 'object' || schema === null) return true;
  const { properties, additionalProperties, patternProperties, $ref, anyOf, oneOf, allOf } = schema as Record<
    string,
    unknown
  >;
  if ([patternProperties, $ref, anyOf, oneOf, allOf].some((member) => member !== undefined)) return true;
  if (additionalProperties === true || (typeof additionalProperties === 'object' && additionalProperties !== null))
    return true;
  if (typeof properties !== 'object' || properties === null) return true;
  return Object.hasOwn(properties, name) && hasArgument((properties as Record<string, unknown>)[name], rest);
}

function members(schema: Readonly<Record<string, unknown>>): string[] {
  const { properties } = schema;
  return typeof properties === 'object' && properties !== null ? Object.keys(properties) : [];
}

function unmatched(globs: readonly string[], known: readonly KnownTool[], field: string): Diagnostic[] {
  return globs
    .filter((glob) => !known.some(({ tool }) => globMatches(glob, tool)))
    .map((glob) =>
      diagnostic(`no tool is named \`${glob}\``, {
        field,
        hint: '`proctor tool ls` lists them; names are source.tool',
      }),
    );
}
