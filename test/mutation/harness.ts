/**
 * Stands in for `vitest` where mutants run: tests are collected and run in this very thread, thousands of times over, with Vitest's own
 * `expect`.
 */
import { expect } from 'vitest';

/** A test as a file declares it. */
export interface CollectedTest {
  readonly name: string;
  run(): unknown;
}

type Body = (...args: readonly unknown[]) => unknown;

let collected: CollectedTest[] = [];
let names: readonly string[] = [];

/** The tests declared since the last call. */
export function takeTests(): CollectedTest[] {
  const tests = collected;
  collected = [];
  return tests;
}

function declare(name: string, first: unknown, second?: unknown): void {
  const body = (typeof first === 'function' ? first : second) as Body;
  collected.push({ name: [...names, name].join(' > '), run: () => body() });
}

function group(name: string, first: unknown, second?: unknown): void {
  const outside = names;
  names = [...outside, name];
  try {
    ((typeof first === 'function' ? first : second) as Body)();
  } finally {
    names = outside; // a mutant may throw here, and the tests of the next one are known by their names
  }
}

/** `each` of Vitest: where every row is a list the rows are spread out, else each is one argument. */
function each(declareOne: typeof declare) {
  return (rows: readonly unknown[]) => (name: string, first: unknown, second?: unknown) => {
    const body = (typeof first === 'function' ? first : second) as Body;
    const spread = rows.every(Array.isArray);
    rows.forEach((row, index) => {
      declareOne(`${name} [${index}]`, () => body(...(spread ? (row as readonly unknown[]) : [row])));
    });
  };
}

const test = Object.assign(declare, { each: each(declare) });
const describe = Object.assign(group, { each: each(group) });

export { describe, expect, test as it, test };
