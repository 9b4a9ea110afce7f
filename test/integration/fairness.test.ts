import { writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { createExamRun, openApp, storeIn, temporaryFolder } from '../support/chaos-exam.ts';
import { endOf, startProctor } from '../support/chaos-process.ts';
import { eventually } from '../support/waiting.ts';

const EXECUTIONS = 8_000;
const WORKERS = 4;
const LEASE_MS = 30_000; // the default

test('four processes on one file share a run: none below a quarter of the mean', async () => {
  await using folder = await temporaryFolder('fairness');
  await writeEchoExam(folder.file('profile.json'), folder.file('cases.jsonl'));
  await using app = await openApp(folder.path, folder.path);
  await using stack = new AsyncDisposableStack();
  const at = { cwd: folder.path, environment: storeIn(folder.path) };
  const workers = Array.from({ length: WORKERS }, (_, index) =>
    stack.use(
      startProctor(
        ['worker', '--json', '--name', `fair-${index}`, '--concurrency', '64', '--lease-ms', String(LEASE_MS)],
        at,
      ),
    ),
  );
  // All four stand ready before there is anything to do: start-up time is not what is shared out.
  await eventually('four sessions', async () => ((await app.store.liveSessions(0)).length === WORKERS ? true : null));
  const runId = await createExamRun(app, folder.path);
  const run = await eventually('the run ends', async () => {
    const found = await app.store.run(runId);
    return found?.finished_at == null ? null : found;
  });
  for (const worker of workers) worker.kill('SIGTERM');
  for (const worker of workers) expect(await endOf(worker)).toEqual({ code: 143, signal: null });

  expect(run).toMatchObject({ status: 'completed', gate_status: 'pass' });
  const ended = workers.map((worker) => JSON.parse(worker.stdout()) as { session_id: string });
  const attempts = await app.store.attempts(
    runId,
    Array.from({ length: EXECUTIONS }, (_, ordinal) => ordinal),
  );
  expect(attempts.length).toBe(EXECUTIONS);
  const shares = ended.map(({ session_id }) => attempts.filter((attempt) => attempt.session_id === session_id).length);
  expect(shares.reduce((sum, share) => sum + share, 0)).toBe(EXECUTIONS);
  expect(Math.min(...shares), `shares are ${shares.join(', ')}`).toBeGreaterThanOrEqual(EXECUTIONS / WORKERS / 4);
  expect(await app.store.invariants()).toEqual([]);
});

async function writeEchoExam(profilePath: string, datasetPath: string): Promise<void> {
  const profile = {
    profile_id: 'fairness',
    dataset: { path: 'cases.jsonl' },
    agent: { kind: 'echo', name: 'echo', version: '1' },
    limits: { concurrency: 64 },
    case_groups: [{ id: 'all', evaluators: [{ ref: 'exact_match@1' }] }],
  };
  const cases = Array.from({ length: EXECUTIONS }, (_, index) =>
    JSON.stringify({ id: `case-${index}`, input: `text ${index}`, expected: `text ${index}` }),
  );
  await writeFile(profilePath, JSON.stringify(profile));
  await writeFile(datasetPath, `${cases.join('\n')}\n`);
}
