import { contains } from '../../src/adapters/evaluators/contains.ts';
import { exactMatch } from '../../src/adapters/evaluators/exact-match.ts';
import { jsonSchema } from '../../src/adapters/evaluators/json-schema.ts';
import { numeric } from '../../src/adapters/evaluators/numeric.ts';
import { codePoints, levenshtein } from '../../src/adapters/evaluators/parts/text-distance.ts';
import { regex } from '../../src/adapters/evaluators/regex.ts';
import { similarity } from '../../src/adapters/evaluators/similarity.ts';
import { type Envelope, envelope } from '../../src/contract/agent.ts';
import type { EvaluatorKind } from '../../src/contract/evaluator.ts';
import { passRateInterval, seedOf } from '../../src/core/statistics/index.ts';
import { globMatches } from '../../src/lib/glob.ts';
import { parseStrictJson } from '../../src/lib/strict-json.ts';
import { type Figure, type Row, shown } from '../row.ts';

/** Work with the most that it may take. */
interface Task {
  readonly figure: string;
  readonly bar_ms: number;
  work(): unknown;
}

const LONG = 50_000;
const MILLION = 1_000_000;

/** What large and hostile input costs: evaluators, patterns, parsers, statistics. Each at its best of some rounds, once it is warm. */
export const speed: Row = {
  name: 'speed',
  title: 'large and hostile input: evaluators, patterns, parsers, statistics',
  async measure({ quick, note }) {
    const tasks = [...(await evaluatorTasks()), ...otherTasks()];
    const times: Record<string, number[]> = {};
    for (const { figure, work } of tasks) {
      note(figure);
      times[figure] = await timesOf(work, quick ? 2 : 5);
    }
    const figures = tasks.map(({ figure, bar_ms }): Figure => {
      const best = Math.min(...(times[figure] ?? []));
      return { figure, bar: `≤ ${shown(bar_ms)} ms`, measured: `${shown(best)} ms`, beside: '', met: best <= bar_ms };
    });
    return { figures: [...figures, strictJson()], details: { times } };
  },
};

async function timesOf(work: () => unknown, rounds: number): Promise<number[]> {
  const times: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const started = performance.now();
    await work();
    times.push(performance.now() - started);
  }
  return times;
}

async function evaluatorTasks(): Promise<Task[]> {
  const patterns = [
    ['^(a+)+$', `${'a'.repeat(LONG)}b`],
    ['(x+x+)+y', 'x'.repeat(LONG)],
    ['^(a|a)*$', `${'a'.repeat(LONG)}b`],
    ['([a-zA-Z]+)*[0-9]$', 'a'.repeat(LONG)],
    ['(.*)*(.*)*(.*)*=', 'a'.repeat(LONG)],
  ] as const;
  const numbers = [
    ['digits', '9'.repeat(MILLION)],
    ['groups', '1,234,'.repeat(160_000)],
    ['dots', '1.1.'.repeat(250_000)],
    ['exponents', '1e'.repeat(500_000)],
    ['signs', '-'.repeat(MILLION)],
    ['a long exponent', `1e${'1'.repeat(900_000)}x`],
  ] as const;
  const objects = Array.from({ length: 200_000 }, (_, id) => ({ id }));
  const exact = await graded(exactMatch, {}, { text: 'answer 7' }, 'answer 7');
  return [
    ...(await Promise.all(
      patterns.map(async ([pattern, text]) =>
        task(`regex@1 ${pattern}`, 1_000, await graded(regex, { pattern }, { text })),
      ),
    )),
    ...(await Promise.all(
      numbers.map(async ([what, text]) =>
        task(`numeric@1, a million ${what}`, 2_000, await graded(numeric, {}, { text }, 1)),
      ),
    )),
    task(
      'contains@1, ten million characters',
      1_000,
      await graded(contains, { values: ['needle'] }, { text: 'hay '.repeat(2_500_000) }),
    ),
    ...(await Promise.all(
      ['token_f1', 'jaccard'].map(async (metric) =>
        task(
          `similarity@1 ${metric}, a million characters`,
          1_500,
          await graded(similarity, { metric }, { text: 'ab cd '.repeat(170_000) }, 'ab cd'),
        ),
      ),
    )),
    task(
      'json_schema@1, a catastrophic pattern',
      500,
      await graded(jsonSchema, { schema: { pattern: '^(a+)+$' } }, { structured: `${'a'.repeat(LONG)}b` }),
    ),
    task(
      'json_schema@1, 200,000 different objects',
      2_000,
      await graded(jsonSchema, { schema: { uniqueItems: true } }, { structured: objects }),
    ),
    task('exact_match@1, 20,000 answers', 1_000, async () => {
      for (let index = 0; index < 20_000; index += 1) await exact();
    }),
  ];
}

function otherTasks(): Task[] {
  const text = (step: number) =>
    codePoints(
      Array.from({ length: 10_000 }, (_, index) => String.fromCharCode(97 + ((index * index * step) % 26))).join(''),
    );
  const [left, right] = [text(7), text(11)];
  const glob = `${'a*'.repeat(60)}b`;
  const name = 'a'.repeat(100_000);
  const values = Float64Array.from({ length: MILLION }, (_, index) => (index % 7 === 0 ? 0 : 1));
  const clusters = Int32Array.from({ length: MILLION }, (_, index) => (index % 10 === 0 ? -1 : Math.floor(index / 40)));
  const seed = seedOf('0123456789abcdef', 'pass_rate');
  return [
    task('Levenshtein of 2 × 10,000 characters', 500, () => levenshtein(left, right)),
    task('the worst of globs, 100,000 characters', 50, () => globMatches(glob, name)),
    task('pass rate of a million cases in clusters', 2_000, () =>
      passRateInterval({ values, clusters, repeats: 1, confidence: 0.95, seed }),
    ),
  ];
}

function strictJson(): Figure {
  const rows = Array.from({ length: 20_000 }, (_, index) =>
    JSON.stringify({
      id: `case-${index}`,
      input: { question: `What is the ${index}th word of this sentence, please?` },
      expected: 'the answer',
      tags: ['a', 'easy'],
      metadata: { n: index, p: 0.5 },
    }),
  );
  const best = (parse: (text: string) => unknown) => {
    let least = Number.POSITIVE_INFINITY;
    for (let round = 0; round < 4; round += 1) {
      const started = performance.now();
      for (const row of rows) parse(row);
      least = Math.min(least, performance.now() - started);
    }
    return least;
  };
  const [strict, plain] = [best((row) => parseStrictJson(row)), best((row) => JSON.parse(row))];
  return {
    figure: 'strict JSON, ordinary rows',
    bar: '≤ 10 × JSON.parse',
    measured: `${shown(strict / plain)} ×`,
    beside: `${shown(strict)} ms against ${shown(plain)} ms`,
    met: strict <= 10 * plain,
  };
}

function task(figure: string, bar_ms: number, work: () => unknown): Task {
  return { figure, bar_ms, work };
}

/** Grading of one answer by an evaluator that stands ready. */
async function graded(
  kind: EvaluatorKind,
  config: unknown,
  answer: Partial<Envelope>,
  expected: unknown = null,
): Promise<() => unknown> {
  const evaluator = await kind.open({
    config: kind.config.parse(config),
    base_dir: '.',
    resolve: (name) => name,
    concurrency: 1,
  });
  const input = {
    case: { case_id: 'c1', task_type: 'default', input: 'question', expected, context: null, tags: [], metadata: {} },
    envelope: envelope(answer),
    latency_ms: 12,
    run_id: 'run_1',
    execution_id: 'exe_1',
    attempt_id: 'att_1',
    repeat: 1,
  };
  const { signal } = new AbortController();
  return () => evaluator.evaluate(input, { signal });
}
