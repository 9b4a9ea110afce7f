import { ComparisonBuilder, type MetricComparison } from '../src/core/comparison.ts';
import { MixtureSequence, type SeededRandom, seededRandom, seedOf } from '../src/core/statistics/index.ts';
import { passes, uniform } from './coverage-draws.ts';

/** How often an interval held the truth. */
export interface Coverage {
  readonly interval: string;
  readonly what: string;
  readonly covered: number;
  /** Standard error of `covered`, from the number of rounds. */
  readonly error: number;
  readonly bar: string;
  readonly met: boolean;
}

const CONFIDENCE = 0.95;

/** Every simulation; the same rounds give the same figures on every machine. */
export function coverages(rounds: number): Coverage[] {
  return [
    ...[6, 10, 40].map((cases) =>
      simulate(
        'paired test, alpha 0.05',
        `${cases} cases without a difference, three repeats`,
        Math.min(rounds, 500),
        0.95,
        (random) => ofEqualAgents(random, cases).p_value >= 1 - CONFIDENCE,
      ),
    ),
    ...[8, 40].map((cases) =>
      simulate(
        'interval of a difference',
        `${cases} cases without a difference, three repeats`,
        Math.min(rounds, 500),
        0.95,
        (random) => {
          const [low, high] = ofEqualAgents(random, cases).interval;
          return low <= 0 && 0 <= high;
        },
      ),
    ),
    ...[0.8, 0.95].map((p) =>
      simulate('always valid (beta mixture)', `rate ${p}, a look after each of 1,000 cases`, rounds, 0.95, (random) =>
        sequentialRound(p, 1_000, () => (uniform(random) < p ? 1 : 0)),
      ),
    ),
    simulate('always valid (beta mixture)', 'means of three alike repeats, 500 looks', rounds, 0.95, (random) =>
      sequentialRound(0.75, 500, () => {
        const own = uniform(random) < 0.5 ? 0.95 : 0.55; // a case is easy or hard: its repeats are alike
        return passes(random, own, 3) / 3;
      }),
    ),
  ];
}

function simulate(
  interval: string,
  what: string,
  rounds: number,
  least: number,
  round: (random: SeededRandom) => boolean,
): Coverage {
  const random = seededRandom(seedOf('coverage', `${interval}/${what}`));
  let held = 0;
  for (let index = 0; index < rounds; index += 1) if (round(random)) held += 1;
  const covered = held / rounds;
  const error = Math.sqrt((covered * (1 - covered)) / rounds);
  return { interval, what, covered, error, bar: `≥ ${least * 100} %`, met: covered + 2 * error >= least };
}

/** Two equal agents over the same cases: each case has a rate of its own, both are tried three times. */
function equalAgents(random: SeededRandom, cases: number): ComparisonBuilder {
  const builder = new ComparisonBuilder({
    policy: { test: 'paired_bootstrap', alpha: 1 - CONFIDENCE, max_regressions: null },
    seed: String(random.uint32()),
    same_grading: true,
  });
  for (let index = 0; index < cases; index += 1) {
    const rate = uniform(random);
    const summary = () => {
      const passed = passes(random, rate, 3);
      return { case_id: `${index}`, case_content: '', cluster: null, graded: 3, passed, score: null, dimensions: {} };
    };
    builder.add(summary(), summary());
  }
  return builder;
}

/** What the comparison of two equal agents says of the pass rate. */
function ofEqualAgents(random: SeededRandom, cases: number): MetricComparison {
  const [found] = equalAgents(random, cases).end().metrics;
  if (found === undefined) throw new Error('a comparison without a pass rate');
  return found;
}

/** True when the truth was never beyond the interval, at any look. */
function sequentialRound(truth: number, looks: number, draw: () => number): boolean {
  const sequence = new MixtureSequence(CONFIDENCE);
  for (let look = 0; look < looks; look += 1) {
    sequence.add(draw());
    if (sequence.beyond(truth) !== null) return false;
  }
  return true;
}
