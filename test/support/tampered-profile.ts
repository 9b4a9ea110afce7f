import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/** Writes profile, dataset, agent and grader. */
export function writeProject(folder: string): void {
  mkdirSync(path.join(folder, '.proctor'), { recursive: true });
  writeFileSync(
    path.join(folder, 'cases.jsonl'),
    cases()
      .map((item) => `${JSON.stringify(item)}\n`)
      .join(''),
  );
  writeFileSync(path.join(folder, 'agent.mjs'), AGENT);
  writeFileSync(path.join(folder, 'grader.mjs'), GRADER);
  writeFileSync(path.join(folder, 'profile.yaml'), PROFILE);
}

/** Ids run against the order of the plan, so that plan order and verdict order differ. */
function cases(): unknown[] {
  return Array.from({ length: 12 }, (_, index) => ({
    id: `c${String(12 - index).padStart(2, '0')}`,
    task_type: index < 9 ? 'words' : 'plain',
    input: {
      say: index % 4 === 3 ? 'wrong' : `word ${index}`,
      how: ['plain', 'large', 'break'][[4, 7].indexOf(index) + 1],
    },
    expected: `word ${index}`,
    tags: index % 2 === 0 ? ['even'] : ['odd'],
    metadata: { source: `row ${index}` },
    cluster: `k${index % 5}`,
  }));
}

const AGENT = `export default async ({ case: { input } }) => {
  if (input.how === 'break') throw new Error('the agent broke');
  return { text: input.say, raw: input.how === 'large' ? 'x'.repeat(20000) : null };
};
`;

const GRADER = `import { existsSync, writeFileSync } from 'node:fs';
export const once = ({ case: item, repeat }) => {
  const mark = new URL('./erred', import.meta.url);
  if (item.input.how === 'large' && repeat !== 2 && !existsSync(mark)) {
    writeFileSync(mark, '');
    throw new Error('the grader broke');
  }
  return { status: 'passed', severity: 'none', score: 0.75, reason: 'fine', evidence: { seen: true } };
};
`;

const PROFILE = `profile_id: verify-all
profile_version: 1.0.0
agent: { kind: module, name: words, version: 1.0.0, provider: acme, module: { path: agent.mjs } }
repeats: 2
seed: 7
retry: { grader: 3, backoff: { base_ms: 1, cap_ms: 2 } }
case_groups:
  - id: words
    applies_to: { task_type: words }
    evaluators:
      - { ref: exact_match@1, dimension: correctness, blocking: true, weight: 2 }
      - { ref: 'module:grader.mjs#once', dimension: style, weight: 1 }
    aggregation: { dimensions: { style: { method: min_score, weight: 0.5 } } }
  - id: plain
    applies_to: { task_type: plain }
    evaluators: [{ ref: contains@1, dimension: correctness }]
gate:
  min_cases: 3
  all:
    - { metric: pass_rate, bound: lower, min: 0.2 }
    - { metric: dimension.correctness, bound: point, min: 0.1 }
`;
