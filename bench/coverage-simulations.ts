import {
  bootstrapInterval,
  clusterCodes,
  MixtureSequence,
  pairedDifference,
  type SeededRandom,
  seededRandom,
  seedOf,
  wilson,
} from '../src/core/statistics/index.ts';

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
    ...[
      [0.9, 50],
      [0.97, 200],
      [0.5, 20],
    ].map(([p = 0, n = 0]) =>
      simulate('Wilson', `${n} cases, rate ${p}`, rounds, 0.93, (random) => {
        const interval = wilson(count(random, p, n), n, CONFIDENCE);
        return interval !== null && interval[0] <= p && p <= interval[1];
      }),
    ),
    ...[20, 60].map((clusters) =>
      simulate(
        'clustered bootstrap',
        `${clusters} clusters of 1 to 9 alike cases`,
        Math.min(rounds, 1_000),
        0.9,
        (random) => clusteredRound(random, clusters),
      ),
    ),
    ...[6, 10, 40].map((cases) =>
      simulate(
        'paired test, alpha 0.05',
        `${cases} cases without a difference, three repeats`,
        Math.min(rounds, 500),
        0.95,
        (random) => pairedRound(random, cases),
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
        return count(random, own, 3) / 3;
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

/** Clusters whose cases share a rate drawn around 0.8; the truth is the mean over cases, 0.8. */
function clusteredRound(random: SeededRandom, clusters: number): boolean {
  const values: number[] = [];
  const names: string[] = [];
  for (let cluster = 0; cluster < clusters; cluster += 1) {
    const rate = uniform(random) < 0.5 ? 0.65 : 0.95;
    const size = 1 + random.below(9);
    for (let member = 0; member < size; member += 1) {
      values.push(uniform(random) < rate ? 1 : 0);
      names.push(`k${cluster}`);
    }
  }
  const seed = seedOf('coverage', String(random.uint32()));
  const options = { seed, confidence: CONFIDENCE, resamples: 500 };
  const interval = bootstrapInterval(values, clusterCodes(names, values.length), options);
  return interval !== null && interval[0] <= 0.8 && 0.8 <= interval[1];
}

/** True when a paired test of two equal agents finds nothing: each case has a rate of its own, both are tried three times. */
function pairedRound(random: SeededRandom, cases: number): boolean {
  const differences = Array.from({ length: cases }, () => {
    const rate = uniform(random);
    return (count(random, rate, 3) - count(random, rate, 3)) / 3;
  });
  const seed = seedOf('coverage', String(random.uint32()));
  const found = pairedDifference(differences, null, { seed, confidence: CONFIDENCE, resamples: 1_000 });
  return found !== null && found.p_value >= 1 - CONFIDENCE;
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

function count(random: SeededRandom, p: number, n: number): number {
  let passed = 0;
  for (let index = 0; index < n; index += 1) if (uniform(random) < p) passed += 1;
  return passed;
}

function uniform(random: SeededRandom): number {
  return random.uint32() / 2 ** 32;
}
