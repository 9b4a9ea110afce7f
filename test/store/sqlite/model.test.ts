import { expect, it } from 'vitest';
import { openSqliteStore } from '../../../src/store/sqlite/store.ts';
import { checkAgainstModel } from '../../support/store-model-check.ts';

const RUNS = Number(process.env['PROCTOR_MODEL_RUNS'] ?? 400);

it('answers every sequence of verbs, with stale fences among them, as the model does', {
  timeout: 60_000 + RUNS * 200,
}, async () => {
  const seen = await checkAgainstModel({ runs: RUNS, open: (clock) => openSqliteStore({ path: ':memory:', clock }) });
  // A model test that never meets an answer proves nothing about it.
  expect([...seen].filter((answer) => EXPECTED.has(answer)).sort()).toEqual([...EXPECTED].sort());
});

const EXPECTED: ReadonlySet<string> = new Set([
  'claim: none',
  'claim: some',
  'claim: kept',
  'beat: extended',
  'beat: lost',
  'evidence: written',
  'evidence: duplicate',
  'evidence: fenced',
  'complete: written',
  'complete: fenced',
  'complete again: duplicate',
  'fail: written',
  'fail: fenced',
  'release: written',
  'release: fenced',
  'suspend: written',
  'suspend: fenced',
  'reap: none',
  'reap: taken',
  'reap: ended',
  'cancel: true',
  'cancel: false',
  'sweep: cancelled',
  'begin finalize: true',
  'begin finalize: false',
  'finalize: true,false',
  'finalize: false,false',
  'fail run: true',
]);
