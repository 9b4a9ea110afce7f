import { readFile, writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { describeRun } from '../../src/engine/describe.ts';
import { findRun } from '../../src/engine/run.ts';
import { createExamRun, openApp, storeIn, temporaryFolder } from '../support/chaos-exam.ts';
import { endOf, startProctor } from '../support/chaos-process.ts';

const CENT = 10_000;
const CASES = 12;

test.each([
  { limits: { run: { cost_usd: 1 } }, kills: 15, calls: 3, untold: 3, known: 0 },
  { limits: { run: { cost_usd: 1 } }, kills: 1, calls: 2, untold: 1, known: 50 * CENT },
  { limits: { execution: { cost_usd: 0.5 }, run: { cost_usd: 1 } }, kills: 15, calls: 2, untold: 2, known: 0 },
])('a worker that is killed in its calls keeps to the cap: %o', async (scene) => {
  await using folder = await temporaryFolder('budget-kill');
  await writeExam(folder.file, scene.limits, scene.kills);
  await using app = await openApp(folder.path, folder.path);
  const runId = await createExamRun(app, folder.path);
  for (let lives = 0; ; lives += 1) {
    expect(lives).toBeLessThan(CASES);
    await using worker = startProctor(['worker', '--run', runId], {
      cwd: folder.path,
      environment: storeIn(folder.path),
    });
    if ((await endOf(worker)).signal === null) break;
  }
  const calls = (await readFile(folder.file('calls'), 'utf8')).length;
  const { untold, known } = scene;
  const document = await describeRun(app.store, await findRun(app.store, runId));
  expect({ calls, budgets: document.budgets }).toMatchObject({ calls: scene.calls, budgets: [{ untold, known }] });
  expect(document).toMatchObject({ status: 'completed', gate_status: 'inconclusive', stopped: { reason: 'budget' } });
  expect(await app.store.invariants()).toEqual([]);
});

/** An agent whose every call takes 50 cents, and whose first calls kill the process that makes them. */
async function writeExam(file: (name: string) => string, limits: object, kills: number): Promise<void> {
  const profile = {
    profile_id: 'budget',
    dataset: { path: 'cases.json' },
    agent: {
      kind: 'module',
      name: 'dear',
      version: '1',
      module: { path: 'agent.mjs', export: 'answer' },
      price: { input_per_mtok_usd: 1, output_per_mtok_usd: 1 },
    },
    limits: { concurrency: 1, ...limits },
    case_groups: [{ id: 'all', evaluators: [{ ref: 'exact_match@1' }] }],
  };
  const cases = Array.from({ length: CASES }, (_, index) => ({ id: `case-${index}`, input: 'x', expected: 'x' }));
  await writeFile(file('profile.json'), JSON.stringify(profile));
  await writeFile(file('cases.json'), JSON.stringify({ cases }));
  await writeFile(
    file('agent.mjs'),
    `import { appendFileSync, readFileSync } from 'node:fs';
const calls = ${JSON.stringify(file('calls'))};
export function answer() {
  appendFileSync(calls, '.');
  if (readFileSync(calls, 'utf8').length <= ${kills}) process.kill(process.pid, 'SIGKILL');
  return { text: 'x', usage: { cost_micro_usd: ${50 * CENT} } };
}
`,
  );
}
