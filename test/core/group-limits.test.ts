import { describe, expect, test } from 'vitest';
import { diagnostic } from '../../src/contract/problem.ts';
import { profileProblems } from '../../src/core/group.ts';
import { groupOf, profileOf } from '../support/profile.ts';

const problems = (members: object = {}) => profileProblems(profileOf(members));
const agent = (members: object = {}) => ({ kind: 'echo', name: 'mine', version: '4', ...members });
const price = { input_per_mtok_usd: 1, output_per_mtok_usd: 1 };
const judged = (config: object, ref = 'judge@1') => [
  groupOf('plain'),
  groupOf('judged', { evaluators: [{ ref: 'regex@1' }, { ref, config }] }),
];
const session = [groupOf('one'), groupOf('talk', { session: true })];
const UNPRICED = {
  hint: 'set `agent.price`, or `limits.unpriced: allow` when the agent reports `usage.cost_micro_usd` itself',
};

describe('a limit on cost needs a price', () => {
  const message = 'a limit on cost needs a price, or it would never be reached';

  test.each(['run', 'execution'])('of the %s', (scope) => {
    const limits = { [scope]: { cost_usd: 1 } };
    expect(problems({ limits })).toEqual([diagnostic(message, { field: `limits.${scope}.cost_usd`, ...UNPRICED })]);
    expect(problems({ limits, agent: agent({ price }) })).toEqual([]);
    expect(problems({ limits: { ...limits, unpriced: 'allow' } })).toEqual([]);
    expect(problems({ limits: { [scope]: { tokens: 5 } } })).toEqual([]);
  });

  test('of every judge as well, fallbacks too', () => {
    const models = { judges: [{ model: 'a', price }, { model: 'b' }], fallback: [{ model: 'c', price: null }] };
    const of = { agent: agent({ price }), case_groups: judged(models) };
    const at = (list: string) =>
      diagnostic('the run has a limit on cost, and this judge has no price', {
        field: `case_groups[1].evaluators[1].config.${list}.price`,
        hint: 'set its `price`, or `limits.unpriced: allow` to leave it out of the budget',
      });
    expect(problems({ ...of, limits: { run: { cost_usd: 1 } } })).toEqual([at('judges[1]'), at('fallback[0]')]);
    expect(problems({ ...of, limits: { run: { cost_usd: 1 }, unpriced: 'allow' } })).toEqual([]);
    expect(problems({ ...of, limits: { run: { tokens: 1 } } })).toEqual([]);
    const other = { ...of, case_groups: judged(models, 'module:judge@1') };
    expect(problems({ ...other, limits: { run: { cost_usd: 1 } } })).toEqual([]);
  });

  test('what is no list of models is none', () => {
    const of = { agent: agent({ price }), case_groups: judged({ judges: 'gpt' }), limits: { run: { cost_usd: 1 } } };
    expect(problems(of)).toEqual([]);
  });
});

describe('budgets of the run and of one execution', () => {
  test.each([
    ['cost_usd', 2, 3],
    ['tokens', 20, 30],
    ['tool_calls', 2, 3],
  ] as const)('%s: one execution must fit', (name, cap, one) => {
    const of = (run: number | null, execution: number | null) =>
      problems({ agent: agent({ price }), limits: { run: { [name]: run }, execution: { [name]: execution } } });
    expect(of(cap, one)).toEqual([
      diagnostic(`the run may take ${cap}, less than the ${one} that one execution holds back of it`, {
        field: `limits.run.${name}`,
        hint: `raise it, or lower \`limits.execution.${name}\``,
      }),
    ]);
    expect([of(cap, cap), of(one, cap), of(null, one), of(cap, null)]).toEqual([[], [], [], []]);
  });

  test.each(['cost_usd', 'tokens', 'tool_calls'] as const)('%s: a session needs a limit of its own', (name) => {
    const of = (members: object) => problems({ agent: agent({ price }), case_groups: session, ...members });
    expect(of({ limits: { run: { [name]: 5 } } })).toEqual([
      diagnostic('a session may make many calls, and the budget holds back one execution at a time', {
        field: `limits.run.${name}`,
        hint: `set \`limits.execution.${name}\` too: it ends a session that goes beyond it`,
      }),
    ]);
    expect(of({ limits: { run: { [name]: 5 }, execution: { [name]: 5 } } })).toEqual([]);
    expect(of({ limits: { execution: { [name]: 5 } } })).toEqual([]);
    expect(of({ case_groups: [groupOf('one')], limits: { run: { [name]: 5 } } })).toEqual([]);
  });
});

describe('a judge that is the agent itself', () => {
  const own = (what: string, name: string, field = 'judges[0]') =>
    diagnostic(`the judge \`${name}\` is the agent’s own ${what}: a model is not to grade itself`, {
      field: `case_groups[1].evaluators[1].config.${field}.model`,
      hint: 'name another model, or set `allow_agent_model: true` where that is meant',
    });
  const with_ = (model: unknown, members: object = {}, more: object = {}) =>
    problems({ agent: agent(members), case_groups: judged({ judges: [{ model }], ...more }) });

  test('by version, by name, by the model of its body', () => {
    expect(with_('4')).toEqual([own('version', '4')]);
    expect(with_('mine')).toEqual([own('name', 'mine')]);
    expect(with_('mine', { version: 'mine' })).toEqual([own('version', 'mine')]);
    expect(with_('llm-2', { endpoint: { body: { model: 'llm-2' } } })).toEqual([own('model', 'llm-2')]);
    expect(
      problems({ agent: agent(), case_groups: judged({ fallback: [{ model: 'other' }, { model: 'mine' }] }) }),
    ).toEqual([own('name', 'mine', 'fallback[1]')]);
  });

  test('is refused unless the profile allows it, and nothing that is no name matches', () => {
    expect(with_('mine', {}, { allow_agent_model: true })).toEqual([]);
    expect(with_('mine', {}, { allow_agent_model: 'yes' })).toHaveLength(1);
    expect(with_('other')).toEqual([]);
    expect(with_(7, { endpoint: { body: { model: 7 } } })).toEqual([]);
    expect(problems({ case_groups: judged({ judges: [{}] }) })).toEqual([]);
  });
});
