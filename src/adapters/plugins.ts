import path from 'node:path';
import type { z } from 'zod';
import type { AgentKind } from '../contract/agent.ts';
import type { EvaluatorKind } from '../contract/evaluator.ts';
import type { Plugins } from '../contract/ports.ts';
import { type Diagnostic, diagnostic, ProctorError } from '../contract/problem.ts';
import { AGENT_BASE_MEMBERS, type EvaluatorReference, type Profile } from '../contract/profile.ts';
import type { CodeDigest } from '../contract/snapshot.ts';
import { profileProblems } from '../core/group.ts';
import type { Secrets } from '../core/redaction/secrets.ts';
import { pointerValue } from '../lib/json-pointer.ts';
import { digestOfFile, openRegular } from '../lib/regular-file.ts';
import { agentKindOf } from './agents/index.ts';
import { openDataset } from './datasets/index.ts';
import { type CustomEvaluator, customEvaluatorOf } from './evaluators/custom/index.ts';
import { evaluatorKindOf } from './evaluators/index.ts';
import { type PathDiagnostic, zodDiagnostics } from './profiles/zod-diagnostics.ts';
import { webhookUrl } from './webhooks/sender.ts';
import { fieldOf } from './yaml/placed-document.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** The plug-ins by the registries: datasets, agents and evaluators, resolved by name and opened with this process' secrets. */
export function openPlugins(secrets: Secrets, environment: Environment): Plugins {
  const resolve = (text: string) => secrets.resolve(text);
  const redact = (text: string) => secrets.text(text);
  return {
    openDataset,
    checkNames,
    redaction: secrets,
    learn: (profile) => secrets.learn(profile),
    check: async (profile, baseDir) => [
      ...checkAgent(profile),
      ...checkEvaluators(profile),
      ...profileProblems(profile),
      ...checkWebhooks(profile),
      ...(await checkCode(profile, baseDir)),
    ],
    ungradable: (profile) => profile.case_groups.map(({ evaluators }) => evaluators.map(ungradableBy)),
    code: async (profile, baseDir) => {
      const digests: CodeDigest[] = [];
      for (const { path: file } of codeOf(profile, baseDir))
        digests.push({ path: file, digest: await frozenDigest(path.resolve(baseDir, file), file) });
      return digests;
    },
    openAgent: async (profile, { base_dir, concurrency }) => {
      const kind = agentKindOf(profile.agent.kind);
      return await kind.open({
        config: parse(kind.config, agentMembers(profile), 'agent'),
        base_dir,
        concurrency,
        resolve,
        redact,
        environment,
      });
    },
    openEvaluator: async (reference, { base_dir, concurrency }) => {
      const custom = customEvaluatorOf(reference.ref);
      if (custom)
        return await custom.open({
          base_dir,
          config: reference.config,
          timeout_ms: reference.timeout_ms,
          memory_mb: reference.memory_mb ?? EVALUATOR_MEMORY_MB,
          grade_by: reference.grade_by ?? 'finding',
          resolve,
          redact,
          concurrency,
          environment,
        });
      const kind = evaluatorKindOf(reference.ref);
      return await kind.open({
        config: parse(kind.config, reference.config, reference.ref),
        base_dir,
        resolve,
        concurrency,
      });
    },
  };
}

/** Goes through a raw profile without trusting its shape; what is not there or not text is the schema's to tell. */
function checkNames(value: unknown): PathDiagnostic[] {
  const problems: PathDiagnostic[] = [];
  /** What the name leads to, or nowhere; then what its configuration gets wrong. */
  const look = (named: PropertyKey[], configured: PropertyKey[], config: unknown, find: () => z.ZodType | null) => {
    try {
      const schema = find();
      if (schema === null) return;
      for (const { path: inner, diagnostic: item } of zodDiagnostics(schema, config))
        problems.push({ path: [...configured, ...inner], diagnostic: item });
    } catch (error) {
      if (!ProctorError.is(error)) throw error;
      const told = error.diagnostics.length > 0 ? error.diagnostics : [diagnostic(error.message)];
      for (const item of told) problems.push({ path: named, diagnostic: { ...item, field: null } });
    }
  };
  const agent = pointerValue(value, '/agent');
  const kind = pointerValue(value, '/agent/kind');
  if (typeof kind === 'string')
    look(['agent', 'kind'], ['agent'], kindMembers(agent as Record<string, unknown>), () => agentKindOf(kind).config);
  const groups = pointerValue(value, '/case_groups');
  for (const [group, member] of (Array.isArray(groups) ? groups : []).entries()) {
    const evaluators = pointerValue(member, '/evaluators');
    for (const [index, reference] of (Array.isArray(evaluators) ? evaluators : []).entries()) {
      const ref = pointerValue(reference, '/ref');
      if (typeof ref !== 'string') continue;
      const at = ['case_groups', group, 'evaluators', index];
      const config = pointerValue(reference, '/config');
      const shaped = config === undefined || (typeof config === 'object' && config !== null && !Array.isArray(config));
      look([...at, 'ref'], [...at, 'config'], config ?? {}, () => {
        const kind = customEvaluatorOf(ref) === null ? evaluatorKindOf(ref) : null;
        return shaped && kind !== null ? kind.config : null;
      });
    }
  }
  return problems;
}

function agentMembers(profile: Profile): Record<string, unknown> {
  return kindMembers(profile.agent);
}

function kindMembers(agent: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(agent).filter(([key]) => !AGENT_BASE_MEMBERS.includes(key)));
}

function checkAgent(profile: Profile): Diagnostic[] {
  return attempt('agent.kind', () => {
    const kind: AgentKind = agentKindOf(profile.agent.kind);
    return issues(kind.config, agentMembers(profile), 'agent');
  });
}

function checkEvaluators(profile: Profile): Diagnostic[] {
  return profile.case_groups.flatMap((group, groupIndex) =>
    group.evaluators.flatMap((reference, index) => {
      const at = `case_groups[${groupIndex}].evaluators[${index}]`;
      return attempt(`${at}.ref`, () => {
        const custom = customEvaluatorOf(reference.ref);
        const kind: EvaluatorKind | null = custom === null ? evaluatorKindOf(reference.ref) : null;
        const told = kind === null ? [] : issues(kind.config, reference.config, `${at}.config`);
        return [...told, ...misplaced(reference, at)];
      });
    }),
  );
}

const EVALUATOR_MEMORY_MB = 1_024;

/** Options that evaluators of this kind do not have. */
function misplaced({ ref, memory_mb, grade_by }: EvaluatorReference, at: string): Diagnostic[] {
  const problems: Diagnostic[] = [];
  const isCommand = ref.startsWith('command:');
  if (memory_mb !== undefined && !isCommand && !ref.startsWith('module:')) {
    const hint = 'it is for `module:PATH#EXPORT` and `command:PATH`';
    problems.push(diagnostic(`\`${ref}\` has no memory of its own`, { field: `${at}.memory_mb`, hint }));
  }
  if (grade_by !== undefined && !isCommand)
    problems.push(
      diagnostic(`\`${ref}\` has no exit code`, { field: `${at}.grade_by`, hint: 'it is for `command:PATH`' }),
    );
  return problems;
}

/** Why no answer could be graded by what is expected. Own evaluators cannot say, and a wrong configuration is told by itself. */
function ungradableBy({ ref, config }: EvaluatorReference): (expected: unknown) => string | null {
  const gradable = () => null;
  try {
    if (customEvaluatorOf(ref) !== null) return gradable;
    const kind: EvaluatorKind = evaluatorKindOf(ref);
    const parsed = kind.config.safeParse(config);
    return parsed.success ? (expected) => kind.ungradable?.(parsed.data, expected) ?? null : gradable;
  } catch (error) {
    if (!ProctorError.is(error)) throw error;
    return gradable;
  }
}

function checkWebhooks({ webhooks }: Profile): Diagnostic[] {
  return webhooks.flatMap(({ url }, index) => {
    const field = `webhooks[${index}].url`;
    if (webhooks.findIndex((other) => other.url === url) < index)
      return [diagnostic(`duplicate webhook \`${url}\``, { field, hint: 'give one entry all the events it wants' })];
    return attempt(field, () => {
      webhookUrl(url);
      return [];
    });
  });
}

async function checkCode(profile: Profile, baseDir: string): Promise<Diagnostic[]> {
  const problems: Diagnostic[] = [];
  for (const { path: file, field } of codeOf(profile, baseDir)) {
    await openRegular(path.resolve(baseDir, file)).then(
      (handle) => handle.close(),
      (error: Error) =>
        problems.push(diagnostic(`\`${file}\` ${error.message}`, { field, hint: 'paths are relative to the profile' })),
    );
  }
  return problems;
}

async function frozenDigest(absolute: string, shown: string): Promise<string> {
  return await digestOfFile(absolute).catch((error: Error) => {
    throw new ProctorError('invalid_profile', `\`${shown}\` ${error.message}`, { cause: error });
  });
}

/** Files whose bytes are frozen with a run: the agent's code and the evaluators'. A profile that cannot be resolved has none. */
function codeOf(profile: Profile, baseDir: string): { path: string; field: string }[] {
  const files = new Map<string, string>();
  const add = (paths: readonly string[], field: string) => {
    for (const file of paths) if (!files.has(file)) files.set(file, field);
  };
  quietly(() => {
    const kind: AgentKind = agentKindOf(profile.agent.kind);
    add(kind.code(parse(kind.config, agentMembers(profile), 'agent'), baseDir), `agent.${profile.agent.kind}`);
  });
  profile.case_groups.forEach((group, groupIndex) => {
    group.evaluators.forEach((reference: EvaluatorReference, index) => {
      quietly(() => {
        const custom: CustomEvaluator | null = customEvaluatorOf(reference.ref);
        if (custom) add(custom.code, `case_groups[${groupIndex}].evaluators[${index}].ref`);
      });
    });
  });
  return [...files].map(([file, field]) => ({ path: file, field }));
}

/** Runs what may throw a ProctorError that `check` reports elsewhere; any other error goes on. */
function quietly(work: () => void): void {
  try {
    work();
  } catch (error) {
    if (!ProctorError.is(error)) throw error;
  }
}

function attempt(field: string, work: () => Diagnostic[]): Diagnostic[] {
  try {
    return work();
  } catch (error) {
    if (!ProctorError.is(error)) throw error;
    return error.diagnostics.length > 0 ? [...error.diagnostics] : [diagnostic(error.message, { field })];
  }
}

function issues(schema: z.ZodType, value: unknown, at: string): Diagnostic[] {
  return zodDiagnostics(schema, value).map(({ path: inner, diagnostic: item }) => ({
    ...item,
    field: [at, fieldOf(inner)].filter((part) => part !== null).join('.'),
  }));
}

function parse<Schema extends z.ZodType>(schema: Schema, value: unknown, what: string): z.output<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new ProctorError('invalid_profile', `the configuration of \`${what}\` is not valid`, {
    diagnostics: issues(schema, value, what),
  });
}
