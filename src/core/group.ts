import type { Case } from '../contract/case.ts';
import { type Diagnostic, diagnostic } from '../contract/problem.ts';
import type { CaseGroup, Profile } from '../contract/profile.ts';

/** The index of the case group that takes a case, or what is wrong: an explicit `case_group` wins, otherwise exactly one must match. */
export function groupOf(groups: readonly CaseGroup[], item: Case): number | Diagnostic {
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

function applies({ applies_to: rule }: CaseGroup, item: Case): boolean {
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
        diagnostic(`case group \`${group.id}\` stands twice`, {
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
  return [...problems, ...laterProblems(profile)];
}

/** What the profile's shape has room for and a later version does: refused, because to ignore it would be to lie. */
function laterProblems(profile: Profile): Diagnostic[] {
  const later: readonly (readonly [string, boolean])[] = [
    ['early_stop', profile.early_stop !== 'off'],
    ['limits.execution.tokens', profile.limits.execution.tokens !== null],
    ['limits.execution.cost_usd', profile.limits.execution.cost_usd !== null],
    ['limits.execution.tool_calls', profile.limits.execution.tool_calls !== null],
    ['limits.run.cost_usd', profile.limits.run.cost_usd !== null],
  ];
  return later
    .filter(([, used]) => used)
    .map(([field]) =>
      diagnostic(`\`${field}\` is not enforced by this version yet`, {
        field,
        hint: 'take it out to run now; Proctor does not accept what it would not keep',
      }),
    );
}
