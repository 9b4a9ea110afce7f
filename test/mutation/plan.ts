import type { Mutant } from './mutants.ts';
import type { TaskEnd, TestFile } from './worker.ts';

/** A file that is mutated, with the tests that see it. */
export interface Target {
  readonly path: string;
  readonly mutants: readonly Mutant[];
  readonly affected: readonly string[];
  readonly tests: readonly TestFile[];
  /** Processor time of all of its tests against the file as it is. */
  readonly cpu_ms: number;
}

/** A unit test takes less: mutants are not run against one that takes more. */
export const FAST_MS = 150;

/** Which tests see which file, by what was imported when all of them ran once. */
export class Plan {
  readonly #importers = new Map<string, Set<string>>();
  readonly #tests: readonly (TestFile & { readonly cpu_ms: number })[];
  /** Tests that are too slow, with what they take. */
  readonly slow: readonly string[];
  /** Tests that fail against the files as they are. */
  readonly failing: readonly string[];

  constructor({ ends, imports }: TaskEnd) {
    for (const [from, to] of imports) this.#importers.set(to, (this.#importers.get(to) ?? new Set()).add(from));
    const slow = ends.filter(({ name, cpu_ms }) => name !== 'import' && cpu_ms > FAST_MS);
    const failing = ends.filter(({ error }) => error !== null);
    this.slow = slow.map(({ file, name, cpu_ms }) => `${file}: ${name} (${Math.round(cpu_ms)} ms)`);
    this.failing = failing.map(({ file, name, error }) => `${file}: ${name}: ${error}`);
    this.#tests = [...new Set(ends.map(({ file }) => file))].map((path) => ({
      path,
      without: [...slow, ...failing].flatMap(({ file, name }) => (file === path ? [name] : [])),
      cpu_ms: ends.reduce(
        (sum, { file, name, cpu_ms }) => sum + (file !== path || (name !== 'import' && cpu_ms > FAST_MS) ? 0 : cpu_ms),
        0,
      ),
    }));
  }

  /** The file with its tests, its own ones first, then by how fast they are. */
  target(path: string, mutants: readonly Mutant[]): Target {
    const affected = this.#reaching(path);
    const own = path.replace(/^src\//, 'test/').replace(/\.ts$/, '');
    const tests = this.#tests.filter((test) => affected.has(test.path));
    const rank = ({ path: at, cpu_ms }: (typeof tests)[number]) => (at.startsWith(own) ? 0 : 1e9) + cpu_ms;
    return {
      path,
      mutants,
      affected: [...affected],
      tests: tests.sort((a, b) => rank(a) - rank(b)).map(({ path: at, without }) => ({ path: at, without })),
      cpu_ms: tests.reduce((sum, { cpu_ms }) => sum + cpu_ms, 0),
    };
  }

  #reaching(path: string): Set<string> {
    const found = new Set([path]);
    for (const one of found) for (const importer of this.#importers.get(one) ?? []) found.add(importer);
    return found;
  }
}
