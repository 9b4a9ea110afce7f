import {
  bootstrapInterval,
  type Interval,
  meanInterval,
  type SeededRandom,
  seededRandom,
  seedOf,
  type Units,
  wilson,
} from '../src/core/statistics/index.ts';
import { passes, uniform, unitRate } from './coverage-draws.ts';

/** How often a bound lay on the wrong side of the truth, for the interval of method 2 and for method 1's beside it. */
export interface MeanCoverage {
  readonly setting: string;
  readonly units: number;
  readonly rate: number;
  readonly icc: number;
  /** Shares of rounds in which the lower bound lay above the truth, and the upper one below it. */
  readonly missed: readonly [number, number];
  readonly width: number;
  readonly before: { readonly missed: readonly [number, number]; readonly width: number };
  /** Standard error of a share at the nominal rate. */
  readonly error: number;
  readonly met: boolean;
}

interface Setting {
  readonly name: string;
  /** Sums and counts of each unit. */
  draw(random: SeededRandom, at: { readonly units: number; readonly rate: number; readonly icc: number }): Units;
  /** One value a unit, so that method 1 took Wilson's interval for passes. */
  readonly single: boolean;
  /** Correlations within a unit that are simulated. */
  readonly iccs: readonly number[];
}

const CONFIDENCE = 0.95;
const NOMINAL = (1 - CONFIDENCE) / 2;
/** With some hundred shares to look at, one beyond two standard errors is expected; three are the bar. */
const ERRORS = 3;

const repeated = (repeats: number): Setting => ({
  name: repeats === 1 ? 'one try a case' : `${repeats} tries a case`,
  single: repeats === 1,
  iccs: repeats === 1 ? [0] : repeats === 3 ? [0, 0.3, 0.6] : [0.3],
  draw: (random, { units, rate, icc }) =>
    unitsOf(units, () => [passes(random, unitRate(random, rate, icc), repeats), repeats]),
});

const SETTINGS: readonly Setting[] = [
  repeated(1),
  repeated(3),
  repeated(20),
  {
    name: 'clusters of 1 to 9 cases',
    single: false,
    iccs: [0.3],
    draw: (random, { units, rate, icc }) =>
      unitsOf(units, () => {
        const size = 1 + random.below(9);
        return [passes(random, unitRate(random, rate, icc), size), size];
      }),
  },
  {
    name: 'one cluster in eight has 40 cases, the others 2',
    single: false,
    iccs: [0.3],
    draw: (random, { units, rate, icc }) =>
      unitsOf(units, () => {
        const size = random.below(8) === 0 ? 40 : 2;
        return [passes(random, unitRate(random, rate, icc), size), size];
      }),
  },
  {
    name: 'scores in quarters, 3 tries a case',
    single: false,
    iccs: [0.3],
    draw: (random, { units, rate, icc }) =>
      unitsOf(units, () => [passes(random, unitRate(random, rate, icc), 12) / 4, 3]),
  },
  {
    name: 'scores of any value, one try a case',
    single: false,
    iccs: [0.3],
    // A score between 0 and 1 with the unit's rate as its mean: a uniform number on [0, 2r], or mirrored where r is above a half.
    draw: (random, { units, rate, icc }) =>
      unitsOf(units, () => {
        const own = unitRate(random, rate, icc);
        const value = uniform(random) * 2 * Math.min(own, 1 - own);
        return [own <= 0.5 ? value : 1 - value, 1];
      }),
  },
];

const UNITS = [2, 8, 15, 40, 200];
const RATES = [0.02, 0.1, 0.5, 0.9, 0.98];

/** Every setting; the same rounds give the same figures on every machine. */
export function* meanCoverages(rounds: number): Generator<MeanCoverage> {
  for (const setting of SETTINGS)
    for (const units of UNITS)
      for (const rate of RATES) for (const icc of setting.iccs) yield simulate(setting, { units, rate, icc }, rounds);
}

function simulate(
  setting: Setting,
  at: { readonly units: number; readonly rate: number; readonly icc: number },
  rounds: number,
): MeanCoverage {
  const name = `${setting.name}/${at.units}/${at.rate}/${at.icc}`;
  const random = seededRandom(seedOf('coverage', name));
  const now = new Misses(at.rate);
  const before = new Misses(at.rate);
  for (let round = 0; round < rounds; round += 1) {
    const units = setting.draw(random, at);
    now.add(meanInterval(units, CONFIDENCE));
    before.add(methodOne(units, setting.single, seedOf('coverage', `${name}/${round}`)));
  }
  const error = Math.sqrt((NOMINAL * (1 - NOMINAL)) / rounds);
  const missed = now.shares;
  return {
    setting: setting.name,
    ...at,
    missed,
    width: now.width,
    before: { missed: before.shares, width: before.width },
    error,
    met: missed.every((share) => share <= NOMINAL + ERRORS * error),
  };
}

/** What method 1 did: Wilson over single tries, else the percentile bootstrap over units. */
function methodOne({ sums, counts }: Units, single: boolean, seed: string): Interval | null {
  const values = Array.from(sums, (sum, index) => sum / (counts[index] ?? 1));
  if (single)
    return wilson(
      values.reduce((sum, value) => sum + value, 0),
      values.length,
      CONFIDENCE,
    );
  return bootstrapInterval(values, null, { seed, confidence: CONFIDENCE, resamples: 200 });
}

/** How often bounds missed a truth, and how wide they were. */
class Misses {
  readonly #truth: number;
  #rounds = 0;
  #low = 0;
  #high = 0;
  #width = 0;

  constructor(truth: number) {
    this.#truth = truth;
  }

  add(interval: Interval | null): void {
    const [low, high] = interval ?? [0, 1];
    this.#rounds += 1;
    if (low > this.#truth) this.#low += 1;
    if (high < this.#truth) this.#high += 1;
    this.#width += high - low;
  }

  get shares(): readonly [number, number] {
    return [this.#low / this.#rounds, this.#high / this.#rounds];
  }

  get width(): number {
    return this.#width / this.#rounds;
  }
}

function unitsOf(units: number, draw: () => readonly [number, number]): Units {
  const drawn = Array.from({ length: units }, draw);
  return { sums: drawn.map(([sum]) => sum), counts: drawn.map(([, count]) => count) };
}
