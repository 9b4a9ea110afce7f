import type { Case } from '../contract/case.ts';
import { type Diagnostic, diagnostic } from '../contract/problem.ts';
import type { CaseGroup, Profile } from '../contract/profile.ts';
import { pointerValue } from '../lib/json-pointer.ts';
import { SEQUENTIAL_METRICS } from './early-stop.ts';

/** What of a case says which group takes it. */
export type GroupedCase = Pick<Case, 'id' | 'task_type' | 'case_group'> & { readonly tags: readonly string[] };

/** The index of the case group that takes a case, or what is wrong: an explicit `case_group` wins, otherwise exactly one must match. */
export function groupOf(groups: readonly CaseGroup[], item: GroupedCase): number | Diagnostic {
  if (item.case_group !== null) {
    const index = groups.findIndex((group) => group.id === item.case_group);
    if (index >= 0) return index;
    return diagnostic(`case \`${item.id}\` names case group \`${item.case_group}\`, which the profile does not have`, {
      field: 'case_group',
      hint: `use one of: ${groups.map((group) => group.id).join(', ')}`,
    });
  }
  const matching = groups.flatMap((group, index) => (applies(group, item) ? [index] : []));
  if (matching.length === 1) return matching[0] ?? 0;
  const about = `task_type \`${item.task_type}\`, tags [${item.tags.join(', ')}]`;
  if (matching.length === 0) {
    return diagnostic(`no case group takes case \`${item.id}\` (${about})`, {
      field: 'case_group',
      hint: 'widen an `applies_to`, or name the `case_group` in the case',
    });
  }
  const names = matching.map((index) => groups[index]?.id).join(' and ');
  return diagnostic(`case \`${item.id}\` (${about}) is taken by ${names}`, {
    field: 'case_group',
    hint: 'narrow one `applies_to`, or name the `case_group` in the case',
  });
}

function applies({ applies_to: rule }: CaseGroup, item: GroupedCase): boolean {
  return (
    (rule.task_type === null || rule.task_type === item.task_type) &&
    (rule.tags_any.length === 0 || rule.tags_any.some((tag) => item.tags.includes(tag))) &&
    rule.tags_all.every((tag) => item.tags.includes(tag))
  );
}

/** Problems of a profile that its shape does not show: names that collide or lead nowhere, and what this version does not do yet. */
export function profileProblems(profile: Profile): Diagnostic[] {
  const problems: Diagnostic[] = [];
  const seen = new Set<string>();
  profile.case_groups.forEach((group, index) => {
    const at = `case_groups[${index}]`;
    if (seen.has(group.id))
      problems.push(
        diagnostic(`duplicate case group \`${group.id}\``, {
          field: `${at}.id`,
          hint: 'give each group its own id',
        }),
      );
    seen.add(group.id);
    const dimensions = new Set(group.evaluators.map((evaluator) => evaluator.dimension));
    for (const name of Object.keys(group.aggregation.dimensions)) {
      if (dimensions.has(name)) continue;
      problems.push(
        diagnostic(`dimension \`${name}\` is aggregated but no evaluator of the group scores it`, {
          field: `${at}.aggregation.dimensions.${name}`,
          hint: `evaluators score: ${[...dimensions].sort().join(', ')}`,
        }),
      );
    }
  });
  const all = new Set(profile.case_groups.flatMap((group) => group.evaluators.map((evaluator) => evaluator.dimension)));
  profile.gate.all.forEach((condition, index) => {
    const name = condition.metric.startsWith('dimension.') ? condition.metric.slice('dimension.'.length) : null;
    const field = `gate.all[${index}]`;
    if (name !== null && !all.has(name)) {
      problems.push(
        diagnostic(`no evaluator scores dimension \`${name}\``, {
          field: `${field}.metric`,
          hint: `dimensions: ${[...all].sort().join(', ')}`,
        }),
      );
    }
    if (condition.bound !== 'point' && !/^(pass_rate|mean_score|dimension\..+)$/.test(condition.metric)) {
      problems.push(
        diagnostic(`\`${condition.metric}\` has no interval`, {
          field: `${field}.bound`,
          hint: 'use `bound: point`, or pass_rate, mean_score or dimension.NAME',
        }),
      );
    }
    if (condition.k !== null && condition.k > profile.repeats) {
      problems.push(
        diagnostic(`k is ${condition.k}, but each case runs ${profile.repeats} times`, {
          field: `${field}.k`,
          hint: `raise \`repeats\` to ${condition.k} or more`,
        }),
      );
    }
  });
  if (profile.gate.baseline?.test === 'exact_mcnemar' && profile.repeats > 1) {
    problems.push(
      diagnostic(`exact_mcnemar compares single results, but each case runs ${profile.repeats} times`, {
        field: 'gate.baseline.test',
        hint: 'use paired_bootstrap, or leave `test` out',
      }),
    );
  }
  return [
    ...problems,
    ...retryProblems(profile),
    ...limitProblems(profile),
    ...earlyStopProblems(profile),
    ...judgeProblems(profile),
  ];
}

function retryProblems({ retry, defaults }: Profile): Diagnostic[] {
  if (!retry.agent_errors || defaults.max_attempts !== 1) return [];
  return [
    diagnostic('agent errors are to be retried, but an execution has one attempt', {
      field: 'defaults.max_attempts',
      hint: 'raise it to 2 or more, or take out `retry.agent_errors`',
    }),
  ];
}

function limitProblems({ limits, agent, case_groups }: Profile): Diagnostic[] {
  const problems: Diagnostic[] = [];
  if (limits.run.cost_usd !== null && limits.unpriced === 'refuse') {
    for (const { field, model } of judgeModels(case_groups))
      if (pointerValue(model, '/price') == null)
        problems.push(
          diagnostic('the run has a limit on cost, and this judge has no price', {
            field: `${field}.price`,
            hint: 'set its `price`, or `limits.unpriced: allow` to leave it out of the budget',
          }),
        );
  }
  for (const scope of ['run', 'execution'] as const) {
    if (limits[scope].cost_usd === null || agent.price !== null || limits.unpriced === 'allow') continue;
    problems.push(
      diagnostic('a limit on cost needs a price, or it would never be reached', {
        field: `limits.${scope}.cost_usd`,
        hint: 'set `agent.price`, or `limits.unpriced: allow` when the agent reports `usage.cost_micro_usd` itself',
      }),
    );
  }
  for (const [name, cap, one] of [
    ['cost_usd', limits.run.cost_usd, limits.execution.cost_usd],
    ['tokens', limits.run.tokens, limits.execution.tokens],
    ['tool_calls', limits.run.tool_calls, limits.execution.tool_calls],
  ] as const) {
    if (cap !== null && one === null && case_groups.some(({ session }) => session))
      problems.push(
        diagnostic('a session may make many calls, and the budget holds back one execution at a time', {
          field: `limits.run.${name}`,
          hint: `set \`limits.execution.${name}\` too: it ends a session that goes beyond it`,
        }),
      );
    if (cap === null || one === null || one <= cap) continue;
    problems.push(
      diagnostic(`the run may take ${cap}, less than the ${one} that one execution holds back of it`, {
        field: `limits.run.${name}`,
        hint: `raise it, or lower \`limits.execution.${name}\``,
      }),
    );
  }
  return problems;
}

function earlyStopProblems({ early_stop, gate }: Profile): Diagnostic[] {
  if (early_stop === 'off') return [];
  const problems = gate.all.flatMap(({ metric }, index) =>
    SEQUENTIAL_METRICS.test(metric)
      ? []
      : [
          diagnostic(`no always-valid interval is known for \`${metric}\``, {
            field: `gate.all[${index}].metric`,
            hint: 'with early_stop use pass_rate, mean_score or dimension.NAME',
          }),
        ],
  );
  if (gate.all.length === 0)
    problems.push(
      diagnostic('without conditions nothing can be decided early', {
        field: 'early_stop',
        hint: 'give the gate `all: [...]`',
      }),
    );
  if (gate.baseline !== null)
    problems.push(
      diagnostic('a comparison with a baseline needs every case', {
        field: 'early_stop',
        hint: 'take out `gate.baseline` or `early_stop`',
      }),
    );
  return problems;
}

/** Every model that a judge of the profile names, with its field. */
function judgeModels(groups: readonly CaseGroup[]): { field: string; model: unknown; own_allowed: boolean }[] {
  return groups.flatMap((group, at) =>
    group.evaluators.flatMap(({ ref, config }, index) => {
      if (!ref.startsWith('judge@')) return [];
      return ['judges', 'fallback'].flatMap((list) => {
        const models = config[list];
        return (Array.isArray(models) ? models : []).map((model: unknown, number) => ({
          field: `case_groups[${at}].evaluators[${index}].config.${list}[${number}]`,
          model,
          own_allowed: config['allow_agent_model'] === true,
        }));
      });
    }),
  );
}

/** A judge that is the agent's own model is refused where the profile says so; what only the answer tells is refused there. */
function judgeProblems({ agent, case_groups }: Profile): Diagnostic[] {
  const own: readonly (readonly [string, unknown])[] = [
    ['version', agent.version],
    ['name', agent.name],
    ['model', pointerValue(agent, '/endpoint/body/model')],
  ];
  return judgeModels(case_groups).flatMap(({ field, model, own_allowed }) => {
    const name = pointerValue(model, '/model');
    const [what] = own.find(([, value]) => typeof value === 'string' && value === name) ?? [];
    if (what === undefined || own_allowed) return [];
    return [
      diagnostic(`the judge \`${String(name)}\` is the agent’s own ${what}: a model is not to grade itself`, {
        field: `${field}.model`,
        hint: 'name another model, or set `allow_agent_model: true` where that is meant',
      }),
    ];
  });
}
