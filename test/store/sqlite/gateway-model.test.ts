import { expect, it } from 'vitest';
import { systemClock } from '../../../src/lib/clock.ts';
import { openSqliteStore } from '../../../src/store/sqlite/store.ts';
import { checkGateway } from '../../support/store-gateway-model-check.ts';

const RUNS = Number(process.env['PROCTOR_MODEL_RUNS'] ?? 150);
const SEED = Number(process.env['PROCTOR_MODEL_SEED'] ?? systemClock.now() % 2 ** 31);
const MOST_BATCHES = 10;

it('answers every sequence of calls, answers, uses and ends as the model does, and dispatches no call twice', async () => {
  const missing = new Set(EXPECTED);
  // A model test that never meets an answer proves nothing about it, so more is drawn until each was met.
  for (let batch = 0; batch < MOST_BATCHES && (batch === 0 || missing.size > 0); batch += 1) {
    const seen = await checkGateway({
      runs: RUNS,
      seed: SEED + batch,
      open: (clock) => openSqliteStore({ path: ':memory:', clock }),
    });
    for (const outcome of seen) missing.delete(outcome);
  }
  expect([...missing], `seed ${SEED}`).toEqual([]);
});

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
