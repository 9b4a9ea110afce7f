import { digestText } from '../../lib/canonical-json.ts';

/** A stream of pseudo-random numbers that is the same on every machine. */
export interface SeededRandom {
  /** The next integer in [0, 2³²). */
  uint32(): number;
  /** The next integer in [0, bound), bound ≤ 2²¹, by multiply and shift: no value is likelier than another by more than bound/2³². */
  below(bound: number): number;
  /** Fills the array with integers in [0, bound), the same that as many calls of `below` give. */
  fillBelow(target: Int32Array, bound: number): void;
}

/** The seed of a statistic: SHA-256 in hex of (snapshot digest, statistic name), CONTRACTS "Aggregation and gate". */
export function seedOf(snapshotDigest: string, name: string): string {
  return digestText('proctor/statistic/1', `${snapshotDigest}\n${name}`);
}

/**
 * sfc32 (Doty-Humphrey, PractRand): 32-bit additions, shifts and xors only. State a, b, c = the first three big-endian 32-bit words of the
 * seed (at least 24 hex digits, as `seedOf` gives), counter 1, first 15 outputs dropped. Throws a RangeError for another seed.
 */
export function seededRandom(seedHex: string): SeededRandom {
  if (!/^[0-9a-f]{24,}$/.test(seedHex)) throw new RangeError('a seed must be at least 24 lower hex digits');
  const state = Int32Array.of(...[0, 8, 16].map((at) => Number.parseInt(seedHex.slice(at, at + 8), 16)), 1);
  advance(state, new Int32Array(15));
  const one = new Int32Array(1);
  const uint32 = () => {
    advance(state, one);
    return one[0]! >>> 0;
  };
  return {
    uint32,
    below: (bound) => scaled(uint32(), bound),
    fillBelow(target, bound) {
      advance(state, target);
      for (let index = 0; index < target.length; index += 1) target[index] = scaled(target[index]! >>> 0, bound);
    },
  };
}

/** Fills the array with the next outputs; on local integers, because a bootstrap draws 200 million (3 ns each, 8 ns by a closure's state). */
function advance(state: Int32Array, outputs: Int32Array): void {
  let a = state[0]!;
  let b = state[1]!;
  let c = state[2]!;
  let counter = state[3]!;
  for (let index = 0; index < outputs.length; index += 1) {
    const output = (((a + b) | 0) + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + output) | 0;
    outputs[index] = output;
  }
  state[0] = a;
  state[1] = b;
  state[2] = c;
  state[3] = counter;
}

/** Exact for bounds up to 2^21 (`| 0` truncates): the product has at most 53 bits, and the factor is a power of two. */
function scaled(random: number, bound: number): number {
  return (random * (bound * 2 ** -32)) | 0;
}
