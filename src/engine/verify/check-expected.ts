import type { Differences } from './differences.ts';

/** What a root noted elsewhere proves of a run. */
export interface ExpectedRoot {
  readonly root: string;
  /** The revision whose verdict it proves; 0 is the run's own. */
  readonly revision: number;
  /** Revisions after it, which it says nothing of. */
  readonly later_revisions: number;
}

/** Finds the revision that a root noted elsewhere belongs to; `roots` are those of the store, by revision. */
export function checkExpected(
  runId: string,
  roots: readonly string[],
  root: string,
  differences: Differences,
): ExpectedRoot | null {
  const revision = roots.indexOf(root);
  if (revision !== -1) return { root, revision, later_revisions: roots.length - 1 - revision };
  const corrections = Math.max(0, roots.length - 1);
  const what =
    corrections === 0
      ? 'the root that was expected is not the evidence root, and there are no corrections: the run was rewritten, or corrections were taken away'
      : `the root that was expected is neither the evidence root nor that of a revision, of which there are ${corrections}: the run or a correction was rewritten, or later corrections were taken away`;
  differences.add('run', runId, what, { expected: root, found: roots.at(-1) ?? null });
  return null;
}
