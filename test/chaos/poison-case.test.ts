import { writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { MAX_LEASE_LOSSES } from '../../src/core/decide.ts';
import { verifyRun } from '../../src/engine/verify/verify-run.ts';
import { createExamRun, openApp, storeIn, temporaryFolder } from '../support/chaos-exam.ts';
import { endOf, startProctor } from '../support/chaos-process.ts';

const CASES = 12;

test.each([1, 4])(
  'a case that kills every worker that takes it ends failed, fault infrastructure, after its lost leases; the others get their grades, with %i at once',
  async (concurrency) => {
    await using folder = await temporaryFolder('poison');
    await writePoisonExam(
      folder.file('profile.json'),
      folder.file('agent.mjs'),
      folder.file('cases.json'),
      concurrency,
    );
    await using app = await openApp(folder.path, folder.path);
    const runId = await createExamRun(app, folder.path);
    const at = { cwd: folder.path, environment: storeIn(folder.path) };

    let deaths = 0;
    for (;;) {
      await using worker = startProctor(['worker', '--run', runId], at);
      const exit = await endOf(worker);
      if (exit.signal === null) {
        expect({ ...exit, stderr: worker.stderr() }).toEqual({ code: 0, signal: null, stderr: '' });
        break;
      }
      deaths += 1;
      expect(deaths).toBeLessThanOrEqual(MAX_LEASE_LOSSES + 1);
    }

    expect(deaths).toBe(MAX_LEASE_LOSSES + 1);
    const executions = await app.store.executions(runId, { after: null, limit: 100 });
    expect(executions.map(({ case_id, status, fault, attempt }) => ({ case_id, status, fault, attempt }))).toEqual(
      executions.map(({ case_id, attempt }) =>
        case_id === 'case-5'
          ? { case_id, status: 'failed', fault: 'infrastructure', attempt: MAX_LEASE_LOSSES + 1 }
          : { case_id, status: 'completed', fault: null, attempt },
      ),
    );
    const run = await app.store.run(runId);
    expect(run).toMatchObject({ status: 'completed', gate_status: 'inconclusive' });
    expect(await app.store.invariants()).toEqual([]);
    expect(run === null ? null : (await verifyRun(app, run, null)).found).toEqual([]);
  },
);

/** The others take long enough to be held still when the poisonous one kills their worker. */
async function writePoisonExam(
  profilePath: string,
  agentPath: string,
  datasetPath: string,
  concurrency: number,
): Promise<void> {
  const profile = {
    profile_id: 'poison',
    dataset: { path: 'cases.json' },
    agent: { kind: 'module', name: 'poison', version: '1', module: { path: 'agent.mjs', export: 'answer' } },
    limits: { concurrency },
    case_groups: [{ id: 'all', evaluators: [{ ref: 'exact_match@1' }] }],
  };
  const cases = Array.from({ length: CASES }, (_, index) => ({
    id: `case-${index}`,
    input: `text ${index}`,
    expected: `text ${index}`,
  }));
  await writeFile(profilePath, JSON.stringify(profile));
  await writeFile(datasetPath, JSON.stringify({ cases }));
  await writeFile(agentPath, POISON);
}

const POISON = `export async function answer({ case: item }) {
  if (item.case_id === 'case-5') process.kill(process.pid, 'SIGKILL');
  await new Promise((resolve) => setTimeout(resolve, 150));
  return item.input;
}
`;
