import type { EvaluatorResult } from '../contract/evaluator.ts';
import type { Plugins } from '../contract/ports.ts';
import { ProctorError } from '../contract/problem.ts';
import type { CaseGroup, Profile } from '../contract/profile.ts';
import type { PlannedCase } from '../contract/snapshot.ts';
import type { Claim } from '../contract/store.ts';
import { aggregate } from '../core/aggregate.ts';
import { turnsOf } from '../core/session.ts';
import type { Clock } from '../lib/clock.ts';
import { newId } from '../lib/id.ts';
import { agentRequest } from './agent-request.ts';
import { evaluate } from './evaluate.ts';
import { emptyAnswer, type MadeAnswer, misshapenAnswer, oracleAnswer, wrongAnswer } from './probe-answers.ts';
import { haveSession, type Invoke } from './session.ts';

/** What came of one trial of the evaluators or of the agent. */
export interface ProbeTrial {
  /**
   * `agent`: one real call; `oracle`: the answer made from `expected`, must pass; `no_op`: an empty answer, must not pass; `wrong`: wrong
   * answers, of which every evaluator should fail one.
   */
  readonly trial: 'agent' | 'oracle' | 'no_op' | 'wrong';
  readonly group: string;
  readonly case_id: string;
  /** Whether the trial came out as it must; an agent's wrong answer is no fault of the profile. */
  readonly ok: boolean;
  /** True where the profile may be meant so, and somebody should look. */
  readonly warning: boolean;
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

interface Graded {
  readonly passed: boolean;
  readonly score: number;
  readonly results: readonly EvaluatorResult[];
}

type Grade = (answer: MadeAnswer) => Promise<Graded>;

/** What every trial of a case tells. */
type About = Pick<ProbeTrial, 'group' | 'case_id'>;

/**
 * Tries a profile before it costs anything: for the first case of every group the evaluators must pass an oracle and fail a
 * no-op (a dataset that cannot tell them apart measures nothing), each evaluator should fail a wrong answer, and the agent is called once.
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
    const grade: Grade = async (answer) => {
      const results = await gradeOnce(deps, profile, baseDir, index, item, answer, signal);
      return { ...aggregate(group, profile.defaults, results), results };
    };
    const about = { group: group.id, case_id: item.id };
    const oracle = await grade(oracleAnswer(profile, item));
    const empty = await grade(emptyAnswer(profile, item));
    trials.push(oracleTrial(about, oracle), emptyTrial(about, empty));
    const wrong = await grade(wrongAnswer(profile, item));
    const misshapen = await grade(misshapenAnswer(profile, item));
    trials.push(wrongTrial(about, oracle, [wrong, misshapen, empty]));
    trials.push(await callAgent(deps, profile, baseDir, about, item, grade, signal));
  }
  return trials;
}

function oracleTrial(about: About, { passed, score, results }: Graded): ProbeTrial {
  const detail = passed
    ? 'the answer made from `expected` passes'
    : `the answer made from \`expected\` does not pass (${reasonOf(results)}); mend the evaluators, or give the case its right answer as \`metadata.oracle\``;
  return { trial: 'oracle', ...about, ok: passed, warning: false, passed, score, detail, latency_ms: null };
}

function emptyTrial(about: About, { passed, score }: Graded): ProbeTrial {
  const detail = passed
    ? 'an empty answer passes: these evaluators cannot tell a working agent from a broken one'
    : 'an empty answer does not pass';
  return { trial: 'no_op', ...about, ok: !passed, warning: false, passed, score, detail, latency_ms: null };
}

/** Every evaluator that grades the case should fail one of the wrong answers, and the first of them should not pass. */
function wrongTrial(about: About, oracle: Graded, tried: readonly [Graded, ...Graded[]]): ProbeTrial {
  const { passed, score } = tried[0];
  const results = tried.flatMap((graded) => graded.results);
  const erred = results.some(({ status }) => status === 'error');
  const lenient = oracle.results.filter(
    ({ index, status }) =>
      status !== 'skipped' && !results.some((result) => result.index === index && result.status === 'failed'),
  );
  const refs = lenient.map(({ ref }) => `\`${ref}\``).join(', ');
  const cure =
    'if wrong answers can be told at all here, mend the evaluators, or give the case one as `metadata.wrong`';
  const detail = erred
    ? `a wrong answer cannot be graded (${reasonOf(results)})`
    : refs !== ''
      ? `${refs} fail${lenient.length === 1 ? 's' : ''} no wrong answer; ${cure}`
      : passed
        ? `a wrong answer of the right shape passes; ${cure}`
        : 'a wrong answer does not pass, and every evaluator fails one';
  return {
    trial: 'wrong',
    ...about,
    ok: !erred,
    warning: refs !== '' || passed,
    passed,
    score,
    detail,
    latency_ms: null,
  };
}

async function callAgent(
  deps: ProbeDeps,
  profile: Profile,
  baseDir: string,
  about: About,
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
    const common = { trial: 'agent', ...about, warning: false, latency_ms } as const;
    if (answer.type === 'failure')
      return {
        ...common,
        ok: false,
        passed: null,
        score: null,
        detail: deps.plugins.redaction.text(`${answer.code} (fault ${answer.fault}): ${answer.message}`),
      };
    const graded = await grade({ envelope: answer.envelope, latency_ms });
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
  answer: MadeAnswer,
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
      { ...answer, results: [] },
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

function reasonOf(results: readonly EvaluatorResult[]): string {
  const failed =
    results.find((result) => result.status === 'error') ?? results.find((result) => result.status === 'failed');
  return failed === undefined ? 'the score is too low' : `${failed.ref}: ${failed.reason ?? failed.status}`;
}
