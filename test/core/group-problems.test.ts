import { describe, expect, test } from 'vitest';
import { diagnostic } from '../../src/contract/problem.ts';
import { profileProblems } from '../../src/core/group.ts';
import { groupOf, profileOf } from '../support/profile.ts';

const problems = (members: object = {}) => profileProblems(profileOf(members));
const scoring = (...dimensions: readonly string[]) =>
  groupOf('all', { evaluators: dimensions.map((dimension) => ({ ref: 'regex@1', dimension })) });
const condition = (members: object) => ({
  gate: {
    all: [
      { metric: 'pass_rate', min: 0.5 },
      { min: 0.5, ...members },
    ],
  },
});

test('a profile without problems has none', () => {
  expect(problems()).toEqual([]);
});

describe('groups and dimensions', () => {
  test('two groups of the same id', () => {
    expect(problems({ case_groups: [groupOf('a'), groupOf('b'), groupOf('a')] })).toEqual([
      diagnostic('duplicate case group `a`', { field: 'case_groups[2].id', hint: 'give each group its own id' }),
    ]);
  });

  test('a dimension that is aggregated and not scored in its own group', () => {
    const aggregated = {
      ...scoring('style', 'format', 'style'),
      aggregation: { dimensions: { format: {}, tone: {} } },
    };
    expect(problems({ case_groups: [{ ...scoring('tone'), id: 'other' }, aggregated] })).toEqual([
      diagnostic('dimension `tone` is aggregated but no evaluator of the group scores it', {
        field: 'case_groups[1].aggregation.dimensions.tone',
        hint: 'evaluators score: format, style',
      }),
    ]);
  });
});

test('agent errors that are to be retried within one attempt', () => {
  const retry = { agent_errors: true };
  expect(problems({ retry, defaults: { max_attempts: 1 } })).toEqual([
    diagnostic('agent errors are to be retried, but an execution has one attempt', {
      field: 'defaults.max_attempts',
      hint: 'raise it to 2 or more, or take out `retry.agent_errors`',
    }),
  ]);
  for (const profile of [{ retry }, { retry, defaults: { max_attempts: 2 } }, { defaults: { max_attempts: 1 } }])
    expect(problems(profile)).toEqual([]);
});

describe('conditions of the gate', () => {
  test('a dimension that some group scores is known', () => {
    expect(
      problems({ case_groups: [scoring('style')], ...condition({ metric: 'dimension.style', bound: 'lower' }) }),
    ).toEqual([]);
  });

  test('a dimension that nobody scores', () => {
    const gate = condition({ metric: 'dimension.tone' });
    expect(problems({ case_groups: [scoring('style', 'format')], ...gate })).toEqual([
      diagnostic('no evaluator scores dimension `tone`', {
        field: 'gate.all[1].metric',
        hint: 'dimensions: format, style',
      }),
    ]);
  });

  test.each(['lower', 'upper'])('a metric without interval has no %s bound', (bound) => {
    expect(problems(condition({ metric: 'infra_rate', bound }))).toEqual([
      diagnostic('`infra_rate` has no interval', {
        field: 'gate.all[1].bound',
        hint: 'use `bound: point`, or pass_rate, mean_score or dimension.NAME',
      }),
    ]);
    expect(problems(condition({ metric: 'mean_score', bound }))).toEqual([]);
    expect(problems(condition({ metric: 'pass_rate', bound }))).toEqual([]);
    expect(problems(condition({ metric: 'pass_rate_strict', bound }))).toHaveLength(1);
  });

  test('k beyond the repeats', () => {
    const gate = condition({ metric: 'pass_hat_k', k: 3 });
    expect(problems({ ...gate, repeats: 3 })).toEqual([]);
    expect(problems({ ...gate, repeats: 2 })).toEqual([
      diagnostic('k is 3, but each case runs 2 times', {
        field: 'gate.all[1].k',
        hint: 'raise `repeats` to 3 or more',
      }),
    ]);
  });
});

describe('the baseline', () => {
  test.each([
    [{ test: 'exact_mcnemar' }, 1, false],
    [{ test: 'exact_mcnemar' }, 2, true],
    [{ test: 'paired_bootstrap' }, 2, false],
    [{}, 2, false],
  ] as const)('%o with %i repeats', (baseline, repeats, wrong) => {
    expect(problems({ repeats, gate: { baseline } })).toEqual(
      wrong
        ? [
            diagnostic('exact_mcnemar compares single results, but each case runs 2 times', {
              field: 'gate.baseline.test',
              hint: 'use paired_bootstrap, or leave `test` out',
            }),
          ]
        : [],
    );
  });
});

describe('early stop', () => {
  const decided = { early_stop: 'decided' };

  test.each(['pass_rate', 'mean_score', 'dimension.correctness'])('%s may be decided early', (metric) => {
    expect(problems({ ...decided, gate: { all: [{ metric, min: 0.5 }] } })).toEqual([]);
  });

  test('a metric without always-valid interval', () => {
    const gate = {
      all: [
        { metric: 'pass_rate', min: 0.5 },
        { metric: 'infra_rate', max: 0.5 },
      ],
    };
    expect(problems({ gate })).toEqual([]);
    expect(problems({ ...decided, gate })).toEqual([
      diagnostic('no always-valid interval is known for `infra_rate`', {
        field: 'gate.all[1].metric',
        hint: 'with early_stop use pass_rate, mean_score or dimension.NAME',
      }),
    ]);
  });

  test('needs conditions and no baseline', () => {
    expect(problems({ ...decided, gate: { baseline: {} } })).toEqual([
      diagnostic('without conditions nothing can be decided early', {
        field: 'early_stop',
        hint: 'give the gate `all: [...]`',
      }),
      diagnostic('a comparison with a baseline needs every case', {
        field: 'early_stop',
        hint: 'take out `gate.baseline` or `early_stop`',
      }),
    ]);
  });
});
