import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/lib/clock.ts';
import { openSqliteStore } from '../../../src/store/sqlite/store.ts';
import { checkGateway } from '../../support/store-gateway-model-check.ts';

const RUNS = Number(process.env['PROCTOR_MODEL_RUNS'] ?? 150);
const SEED = Number(process.env['PROCTOR_MODEL_SEED'] ?? systemClock.now() % 2 ** 31);
const MOST_BATCHES = 10;

const EXPECTED: ReadonlySet<string> = new Set([
  'begin: started',
  'begin: approval_required',
  'begin: denied',
  'begin: error',
  'begin: known',
  'answer: answered',
  'answer: not_found',
  'answer: not_pending',
  'answer: expired',
  'answer: mismatch',
  'answer: not_an_approver',
  'approve: answered',
  'edit: answered',
  'edit: not_editable',
  'edit: not_pending',
  'edit: not_an_approver',
  'edit: expired',
  'consume: true',
  'consume: false',
  'finish: written',
  'finish: late',
  'cancel: true',
  'cancel: false',
  'expire: 0',
  'expire: 1',
  'expire: 2',
  'reap: ',
  'reap: some',
]);

const BATCHES = Array.from({ length: MOST_BATCHES }, (_, batch) => batch);

describe('answers every sequence of calls, answers, uses and ends as the model does, and dispatches no call twice', () => {
  const missing = new Set(EXPECTED);

  // A model test that never meets an answer proves nothing about it, so more is drawn until each was met.
  it.each(BATCHES)('batch %i', async (batch) => {
    if (batch > 0 && missing.size === 0) return;
    const seen = await checkGateway({
      runs: RUNS,
      seed: SEED + batch,
      open: (clock) => openSqliteStore({ path: ':memory:', clock }),
    });
    for (const answer of seen) missing.delete(answer);
  });

  it('meets every answer', () => expect([...missing], `seed ${SEED}`).toEqual([]));
});
