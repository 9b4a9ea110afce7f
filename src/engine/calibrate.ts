import { envelope } from '../contract/agent.ts';
import type { Evaluator } from '../contract/evaluator.ts';
import { type Interval, krippendorffAlpha, meanInterval } from '../core/statistics/index.ts';

/** One answer that people have graded. */
export interface CalibrationItem {
  readonly input: unknown;
  readonly context: unknown;
  readonly expected: unknown;
  readonly answer: unknown;
  /** What people gave it, in [0, 1]. */
  readonly score: number;
}

/** How far an evaluator agrees with people. */
export interface Calibration {
  readonly items: number;
  readonly graded: number;
  /** Items that the evaluator could not grade. */
  readonly failed: number;
  readonly agreement: {
    /** Krippendorff's alpha of the scores, interval metric; null where it is not defined. */
    readonly krippendorff_alpha: number | null;
    /** Share of items on which both pass or both fail, with its interval at 95 %; null without items. */
    readonly verdicts: number | null;
    readonly verdicts_interval: Interval | null;
    /** Mean distance of the scores. */
    readonly mean_error: number | null;
    /** Mean of evaluator − people: above 0 it is too kind. */
    readonly bias: number | null;
  };
  readonly spent: { readonly cost_micro_usd: number; readonly tokens: number };
  /** The items furthest apart, worst first. */
  readonly worst: readonly {
    readonly item: number;
    readonly people: number;
    readonly evaluator: number;
    readonly reason: string | null;
  }[];
  /** The first reasons why items could not be graded. */
  readonly problems: readonly { readonly item: number; readonly reason: string | null }[];
}

const AT_ONCE = 8;
const MOST_SHOWN = 10;

interface Graded {
  readonly item: number;
  readonly people: number;
  readonly evaluator: number | null;
  readonly passed: boolean;
  readonly reason: string | null;
  readonly evidence: unknown;
}

/** Has an evaluator grade what people have graded; `threshold` is the score from which people's grade is a pass. */
export async function calibrate(
  evaluator: Evaluator,
  items: readonly CalibrationItem[],
  threshold: number,
  timeoutMs: number,
): Promise<Calibration> {
  const graded: Graded[] = [];
  for (let from = 0; from < items.length; from += AT_ONCE)
    graded.push(
      ...(await Promise.all(
        items.slice(from, from + AT_ONCE).map((item, index) => grade(evaluator, item, from + index + 1, timeoutMs)),
      )),
    );
  const usable = graded.filter((item): item is Graded & { evaluator: number } => item.evaluator !== null);
  const same = usable.map((item) => (item.passed === item.people >= threshold ? 1 : 0));
  const mean = (values: readonly number[]) =>
    values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;
  const taken = (name: string) =>
    graded.reduce((sum, { evidence }) => sum + Number((evidence as Record<string, unknown> | null)?.[name] ?? 0), 0);
  return {
    items: items.length,
    graded: usable.length,
    failed: graded.length - usable.length,
    agreement: {
      krippendorff_alpha: krippendorffAlpha(
        usable.map(({ people, evaluator: found }) => [people, found]),
        'interval',
      ),
      verdicts: mean(same),
      verdicts_interval: meanInterval({ sums: same, counts: same.map(() => 1) }, 0.95),
      mean_error: mean(usable.map(({ people, evaluator: found }) => Math.abs(found - people))),
      bias: mean(usable.map(({ people, evaluator: found }) => found - people)),
    },
    spent: { cost_micro_usd: taken('cost_micro_usd'), tokens: taken('tokens') },
    worst: usable
      .toSorted((a, b) => Math.abs(b.evaluator - b.people) - Math.abs(a.evaluator - a.people) || a.item - b.item)
      .filter((item) => item.evaluator !== item.people)
      .slice(0, MOST_SHOWN)
      .map(({ item, people, evaluator: found, reason }) => ({ item, people, evaluator: found, reason })),
    problems: graded
      .filter((item) => item.evaluator === null)
      .slice(0, MOST_SHOWN)
      .map(({ item, reason }) => ({ item, reason })),
  };
}

async function grade(evaluator: Evaluator, item: CalibrationItem, number: number, timeoutMs: number): Promise<Graded> {
  const { input, context, expected, answer, score } = item;
  const subject = {
    case: { case_id: `item-${number}`, task_type: 'calibration', input, expected, context, tags: [], metadata: {} },
    envelope: envelope(typeof answer === 'string' ? { text: answer } : { structured: answer as never }),
    latency_ms: 0,
    run_id: 'run_calibration',
    execution_id: 'exe_calibration',
    attempt_id: 'att_calibration',
    repeat: 1,
  };
  try {
    const found = await evaluator.evaluate(subject, { signal: AbortSignal.timeout(timeoutMs) });
    const usable = found.status === 'passed' || found.status === 'failed';
    const given = found.score ?? (found.status === 'passed' ? 1 : 0);
    return {
      item: number,
      people: score,
      evaluator: usable ? given : null,
      passed: found.status === 'passed',
      reason: found.reason,
      evidence: found.evidence,
    };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { item: number, people: score, evaluator: null, passed: false, reason, evidence: null };
  }
}
