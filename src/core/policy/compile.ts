import type { Condition, Matcher } from '../../contract/matcher.ts';
import type { Limit, PolicyDocument, Rule } from '../../contract/policy.ts';
import { CONDITION_SUBJECTS, type ConditionSubject } from '../../contract/policy.ts';
import { digest } from '../../lib/canonical-json.ts';
import { compileGlobs } from '../../lib/glob.ts';
import { Lru } from '../../lib/lru.ts';
import type { CallFacts } from './facts.ts';
import { compileTest } from './matchers.ts';
import { every, opposite, type Truth } from './truth.ts';

/** A rule ready to be asked. */
export interface CompiledRule {
  readonly id: string;
  readonly effect: 'allow' | 'ask' | 'deny';
  readonly rule: Rule;
  /** Whether the rule's conditions hold for the call. */
  test(call: CallFacts): Truth;
  /** The same by the conditions that are known before a call is made: not its arguments, not whether it is tainted. */
  reach(caller: Caller): Truth;
  /** Whether `reach` has looked at every condition. */
  readonly fixed: boolean;
}

/** What is known before a call is made. */
export type Caller = Omit<CallFacts, 'arguments' | 'tainted'>;

/** A policy ready to decide; its digest names it in every decision. */
export interface Policy {
  readonly digest: string;
  readonly document: PolicyDocument;
  /** The rules whose globs match a tool, in the order of the file. */
  rulesFor(tool: string): readonly CompiledRule[];
  limitsFor(tool: string): readonly Limit[];
  /** Whether some rule asks if the call is tainted, which takes a look at what ran before. */
  readonly asks_taint: boolean;
  /** Whether some rule looks at statements of SQL, which takes a parser. */
  readonly asks_sql: boolean;
  /** Whether some rule that allows binds the call to something. */
  readonly obliges: boolean;
}

const CACHED_TOOLS = 2_000;

/** Compiles a policy. The document has passed its schema and `policyProblems`. */
export function compilePolicy(document: PolicyDocument): Policy {
  const rules = document.rules.map(compileRule);
  const byTool = new Lru<string, readonly CompiledRule[]>(CACHED_TOOLS);
  const limitsByTool = new Lru<string, readonly Limit[]>(CACHED_TOOLS);
  const ruleTools = rules.map(({ rule }) => compileGlobs(rule.tools));
  const limitTools = document.limits.map((limit) => compileGlobs(limit.tools));
  return {
    digest: digest('proctor/policy/1', document),
    document,
    rulesFor: (tool) => byTool.get(tool, () => rules.filter((_, index) => ruleTools[index]?.(tool))),
    limitsFor: (tool) => limitsByTool.get(tool, () => document.limits.filter((_, index) => limitTools[index]?.(tool))),
    asks_taint: document.rules.some((rule) => Object.hasOwn(rule.when, 'run.tainted')),
    asks_sql: document.rules.some((rule) =>
      Object.values(rule.when).some((condition) => matchersOf(condition).some(({ sql }) => sql !== undefined)),
    ),
    obliges: document.rules.some(({ effect }) => typeof effect === 'object' && 'allow' in effect),
  };
}

/** The effect of a rule by its name alone. */
function effectOf({ effect }: Rule): 'allow' | 'ask' | 'deny' {
  if (typeof effect === 'string') return effect;
  if ('allow' in effect) return 'allow';
  return 'ask' in effect ? 'ask' : 'deny';
}

/** The arguments that a subject names: `args` is all of them (an empty path), `args.a.b` one inside; null for any other subject. */
export function argumentPath(subject: string): readonly string[] | null {
  if (subject === 'args') return [];
  return subject.startsWith('args.') ? subject.slice(5).split('.') : null;
}

/** The matcher in a condition, also behind `not`; null when it is literal. */
export function matcherOf(condition: Condition): Matcher | null {
  if (typeof condition !== 'object' || condition === null || Array.isArray(condition)) return null;
  return 'not' in condition ? matcherOf(condition.not as Condition) : (condition as Matcher);
}

/** The matchers in a condition, also those of its elements. */
export function matchersOf(condition: Condition): readonly Matcher[] {
  const matcher = matcherOf(condition);
  const element = matcherOf(matcher?.each ?? null);
  return [matcher, element].filter((one) => one !== null);
}

function compileRule(rule: Rule): CompiledRule {
  const conditions = Object.entries(rule.when).map(([subject, condition]) => ({
    known: argumentPath(subject) === null && subject !== 'run.tainted',
    test: compileCondition(subject, condition),
  }));
  // What looks at no argument is told at once and decides most rules: it goes first.
  conditions.sort((a, b) => Number(b.known) - Number(a.known));
  const known = conditions.filter((condition) => condition.known);
  return {
    id: rule.id,
    effect: effectOf(rule),
    rule,
    test: (call) => every(conditions, ({ test }) => test(call)),
    reach: (caller) => every(known, ({ test }) => test({ ...caller, arguments: {}, tainted: false })),
    fixed: known.length === conditions.length,
  };
}

function compileCondition(subject: string, condition: Condition): (call: CallFacts) => Truth {
  const test = compileTest(condition);
  const path = argumentPath(subject);
  if (path !== null) return (call) => test(argumentAt(call.arguments, path), call);
  if (subject === 'principal.role') {
    // A role is one of several: a condition holds when one of them fits, and `not` when none does.
    const negated = typeof condition === 'object' && condition !== null && 'not' in condition;
    const inner = negated ? compileTest(condition.not as Condition) : test;
    return (call) => {
      const some: Truth = call.principal.roles.some((role) => inner(role, call) === 'holds') ? 'holds' : 'fails';
      return negated ? opposite(some) : some;
    };
  }
  const read = SUBJECTS[subject as keyof typeof SUBJECTS];
  if (read === undefined) return () => 'unknown';
  return (call) => test(read(call), call);
}

const SUBJECTS: Readonly<Record<Exclude<ConditionSubject, 'principal.role'>, (call: CallFacts) => unknown>> = {
  agent: (call) => call.agent ?? undefined,
  pinned: (call) => call.pinned,
  principal: (call) => call.principal.id,
  'principal.kind': (call) => call.principal.kind,
  risk: (call) => call.risk,
  'run.bound': (call) => call.bound,
  'run.tainted': (call) => call.tainted,
  source: (call) => call.source,
  surface: (call) => call.surface,
};

/** True for a subject that conditions may have. */
export function isSubject(subject: string): boolean {
  return argumentPath(subject) !== null || (CONDITION_SUBJECTS as readonly string[]).includes(subject);
}

function argumentAt(value: unknown, path: readonly string[]): unknown {
  let at = value;
  for (const key of path) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, key)) return undefined;
    at = (at as Readonly<Record<string, unknown>>)[key];
  }
  return at;
}
