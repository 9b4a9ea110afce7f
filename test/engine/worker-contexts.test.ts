import { expect, test } from 'vitest';
import { Worker } from '../../src/engine/worker.ts';
import { httpServer } from '../adapters/transport/server.ts';
import { createExamRun, openApp, temporaryFolder, writeExam } from '../support/chaos-exam.ts';

test('a worker that serves run after run lets go of the agents of those that ended', async () => {
  await using server = await httpServer((_request, response) => {
    response.setHeader('content-type', 'application/json').end('{"text":"an answer"}');
  });
  await using folder = await temporaryFolder('contexts');
  await writeExam(folder.path, { executions: 5, concurrency: 2, port: Number(new URL(server.url).port) });
  await using app = await openApp(folder.path, folder.path);
  let open = 0;
  const plugins: typeof app.plugins = {
    ...app.plugins,
    openAgent: async (...asked) => {
      const agent = await app.plugins.openAgent(...asked);
      open += 1;
      const close = async () => {
        await agent.close();
        open -= 1;
      };
      return { ...agent, close };
    },
  };
  const drain = new AbortController();
  const worker = new Worker(
    { ...app, plugins },
    {
      name: 'endless',
      run_ids: null,
      concurrency: 4,
      lease_ms: 30_000,
      base_dir: null,
      drain: drain.signal,
      drain_ms: 0,
      notice: () => undefined,
    },
  );
  const working = worker.run();
  for (let round = 0; round < 3; round += 1) {
    const runId = await createExamRun(app, folder.path);
    await expect.poll(async () => (await app.store.run(runId))?.status).toBe('completed');
    await expect.poll(() => open).toBe(0);
  }
  drain.abort();
  await working;
});
