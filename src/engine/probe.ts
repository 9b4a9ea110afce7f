import { type Envelope, envelope } from '../contract/agent.ts';
import type { EvaluatorResult } from '../contract/evaluator.ts';
import type { Plugins } from '../contract/ports.ts';
import { ProctorError } from '../contract/problem.ts';
import type { CaseGroup, Profile } from '../contract/profile.ts';
import type { PlannedCase } from '../contract/snapshot.ts';
import type { Claim } from '../contract/store.ts';
import { aggregate } from '../core/aggregate.ts';
import { sessionEnvelope, turnsOf } from '../core/session.ts';
import type { Clock } from '../lib/clock.ts';
import { newId } from '../lib/id.ts';
import { agentRequest } from './agent-request.ts';
import { evaluate } from './evaluate.ts';
import { haveSession, type Invoke } from './session.ts';

/** What came of one trial of the evaluators or of the agent. */
export interface ProbeTrial {
  /** `agent`: one real call; `oracle`: the answer made from `expected`, must pass; `no_op`: an empty answer, must not pass. */
  readonly trial: 'agent' | 'oracle' | 'no_op';
  readonly group: string;
  readonly case_id: string;
  /** Whether the trial came out as it must; an agent's wrong answer is no fault of the profile. */
  readonly ok: boolean;
  readonly passed: boolean | null;
  readonly score: number | null;
  readonly detail: string;
  readonly latency_ms: number | null;
}

/** What a probe works with. */
export interface ProbeDeps {
  readonly plugins: Plugins;
  readonly clock: Clock;
}

/**
 * Tries a profile before it costs anything: for the first case of every group the evaluators must pass an oracle and fail a
 * no-op (a dataset that cannot tell them apart measures nothing), and the agent is called once.
 */
export async function probe(
  deps: ProbeDeps,
  profile: Profile,
  baseDir: string,
  cases: readonly PlannedCase[],
  signal: AbortSignal,
): Promise<ProbeTrial[]> {
  const trials: ProbeTrial[] = [];
  for (const [index, group] of profile.case_groups.entries()) {
    const item = cases.find((candidate) => candidate.group === index);
    if (item === undefined) continue;
    const grade = async (answer: Envelope, latency_ms: number) => {
      const results = await gradeOnce(deps, profile, baseDir, index, item, answer, latency_ms, signal);
      return { ...aggregate(group, profile.defaults, results), results };
    };
    const oracle = await grade(oracleOf(profile, item), 0);
    const detail = oracle.passed
      ? 'the answer made from `expected` passes'
      : `the answer made from \`expected\` does not pass (${reasonOf(oracle.results)}); mend the evaluators, or give the case its right answer as \`metadata.oracle\``;
    trials.push({
      trial: 'oracle',
      group: group.id,
      case_id: item.id,
      ok: oracle.passed,
      passed: oracle.passed,
      score: oracle.score,
      detail,
      latency_ms: null,
    });
    const empty = await grade(
      answered(profile, item, () => envelope({ text: '' })),
      0,
    );
    const verdict = empty.passed
      ? 'an empty answer passes: these evaluators cannot tell a working agent from a broken one'
      : 'an empty answer does not pass';
    trials.push({
      trial: 'no_op',
      group: group.id,
      case_id: item.id,
      ok: !empty.passed,
      passed: empty.passed,
      score: empty.score,
      detail: verdict,
      latency_ms: null,
    });
    trials.push(await callAgent(deps, profile, baseDir, group.id, item, grade, signal));
  }
  return trials;
}

type Grade = (
  answer: Envelope,
  latency_ms: number,
) => Promise<{ passed: boolean; score: number; results: readonly EvaluatorResult[] }>;

async function callAgent(
  deps: ProbeDeps,
  profile: Profile,
  baseDir: string,
  group: string,
  item: PlannedCase,
  grade: Grade,
  signal: AbortSignal,
): Promise<ProbeTrial> {
  const agent = await deps.plugins.openAgent(profile, { base_dir: baseDir, concurrency: 1 });
  try {
    const id = newId('prb', deps.clock.now());
    const request = agentRequest({ run_id: id, execution_id: id, attempt_id: id, attempt_number: 1 }, profile, item);
    const started = deps.clock.monotonic();
    const call: Invoke = (asked) =>
      agent.invoke(asked, { signal, timeout_ms: profile.defaults.request_timeout_ms, repeat: 1 });
    const turns = profile.case_groups[item.group]?.session ? turnsOf(item.input, item.expected) : null;
    const answer =
      turns === null || typeof turns === 'string'
        ? await call(request)
        : await haveSession(request, turns, deps.clock, call);
    const latency_ms = Math.round(deps.clock.monotonic() - started);
    const common = { trial: 'agent', group, case_id: item.id, latency_ms } as const;
    if (answer.type === 'failure')
      return {
        ...common,
        ok: false,
        passed: null,
        score: null,
        detail: deps.plugins.redaction.text(`${answer.code} (fault ${answer.fault}): ${answer.message}`),
      };
    const graded = await grade(answer.envelope, latency_ms);
    const detail = graded.passed
      ? 'the agent answers and passes'
      : `the agent answers but does not pass: ${reasonOf(graded.results)}`;
    return {
      ...common,
      ok: graded.results.every((result) => result.status !== 'error'),
      passed: graded.passed,
      score: graded.score,
      detail,
    };
  } finally {
    await agent.close();
  }
}

async function gradeOnce(
  deps: ProbeDeps,
  profile: Profile,
  baseDir: string,
  group: number,
  item: PlannedCase,
  answer: Envelope,
  latency_ms: number,
  signal: AbortSignal,
): Promise<EvaluatorResult[]> {
  const id = newId('run', deps.clock.now());
  const claim: Claim = {
    run_id: id,
    ordinal: 0,
    attempt: 1,
    lease_id: id,
    case_id: item.id,
    repeat: 1,
    failures: { agent: 0, infrastructure: 0, grader: 0, lease: 0 },
    kept: [],
  };
  await using opened = new AsyncDisposableStack();
  const evaluators = [];
  for (const [index, reference] of (profile.case_groups[group]?.evaluators ?? []).entries()) {
    const evaluator = await deps.plugins.openEvaluator(reference, { base_dir: baseDir, concurrency: 1 });
    opened.defer(() => evaluator.close());
    evaluators.push({ index, reference, evaluator });
  }
  return (
    await evaluate(
      { deps, redaction: deps.plugins.redaction, context: { group: groupIn(profile) }, claim, item, signal },
      { envelope: answer, latency_ms, results: [] },
      evaluators,
    )
  ).map((graded) => graded.result);
}

function groupIn(profile: Profile): (index: number) => CaseGroup {
  return (index) => {
    const found = profile.case_groups[index];
    if (found === undefined) throw new ProctorError('invalid_profile', `there is no case group ${index}`);
    return found;
  };
}

/** The answer that must pass of a case, each turn by itself where it is a session. */
function oracleOf(profile: Profile, item: PlannedCase): Envelope {
  return answered(profile, item, (turn) => rightAnswer(turn));
}

/** An answer to a case made by turns where it is a session. */
function answered(
  profile: Profile,
  item: PlannedCase,
  make: (asked: Pick<PlannedCase, 'expected' | 'metadata'>) => Envelope,
): Envelope {
  const turns = profile.case_groups[item.group]?.session ? turnsOf(item.input, item.expected) : null;
  if (turns === null || typeof turns === 'string') return make(item);
  return sessionEnvelope(turns.map(({ expected }) => ({ envelope: make({ expected, metadata: {} }), latency_ms: 0 })));
}

/** The answer that must pass: the case's `metadata.oracle`, else what `expected` says, in every place an evaluator may look. */
function rightAnswer(item: Pick<PlannedCase, 'expected' | 'metadata'>): Envelope {
  const right = Object.hasOwn(item.metadata, 'oracle') ? item.metadata['oracle'] : item.expected;
  if (typeof right === 'string') return envelope({ text: right, usage: NOTHING_USED });
  if (typeof right !== 'object' || right === null)
    return envelope({
      text: right === null ? null : String(right),
      structured: right as Envelope['structured'],
      usage: NOTHING_USED,
    });
  const { text, tool_calls, structured } = right as { text?: unknown; tool_calls?: unknown; structured?: unknown };
  return envelope({
    text: typeof text === 'string' ? text : JSON.stringify(right),
    structured: (structured ?? right) as Envelope['structured'],
    tool_calls: Array.isArray(tool_calls)
      ? tool_calls.map((call: { name: string; arguments?: unknown }) => ({
          name: call.name,
          arguments: (call.arguments ?? null) as Envelope['structured'],
          result: null,
          source: 'gated' as const,
        }))
      : [],
    usage: NOTHING_USED,
  });
}

/** An oracle costs nothing, and says so: an evaluator of usage must be able to pass it. */
const NOTHING_USED = { input_tokens: 0, output_tokens: 0, total_tokens: 0, cost_micro_usd: 0 };

function reasonOf(results: readonly EvaluatorResult[]): string {
  const failed =
    results.find((result) => result.status === 'error') ?? results.find((result) => result.status === 'failed');
  return failed === undefined ? 'the score is too low' : `${failed.ref}: ${failed.reason ?? failed.status}`;
}
