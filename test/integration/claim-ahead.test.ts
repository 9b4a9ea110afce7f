import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { Worker } from '../../src/engine/worker.ts';
import { createExamRun, openApp, temporaryFolder, writeExam } from '../support/chaos-exam.ts';

const CONCURRENCY = 8;
const EXECUTIONS = 160;
// A claim takes long enough, whatever the disk, for a slot to fall free meanwhile, and yet a fraction of what the agent takes.
const AGENT_MS = 200;
const CLAIM_MS = 50;

test('slots are kept full by claims ahead, and an agent never gets more calls at once than the concurrency', async () => {
  let running = 0;
  const seen: number[] = [];
  const server = createServer((request, response) => {
    running += 1;
    seen.push(running);
    request.resume();
    setTimeout(() => {
      running -= 1;
      response.setHeader('content-type', 'application/json').end('{"text":"an answer"}');
    }, AGENT_MS);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  await using folder = await temporaryFolder('ahead');
  const { port } = server.address() as AddressInfo;
  await writeExam(folder.path, { executions: EXECUTIONS, concurrency: CONCURRENCY, port });
  await using app = await openApp(folder.path, folder.path);
  const runId = await createExamRun(app, folder.path);
  let ahead = 0;
  const store = {
    ...app.store,
    claim: async (request: Parameters<typeof app.store.claim>[0]) => {
      await sleep(CLAIM_MS);
      const claims = await app.store.claim(request);
      ahead = Math.max(ahead, (await app.store.progress(runId)).running - CONCURRENCY);
      return claims;
    },
  };
  const options = {
    name: 'one',
    run_ids: [runId],
    lease_ms: 30_000,
    base_dir: null,
    drain_ms: 0,
    notice: () => undefined,
  };
  // More slots than the run may have: the run's own concurrency is what counts.
  const drain = new AbortController().signal;
  await new Worker({ ...app, store }, { ...options, concurrency: 4 * CONCURRENCY, drain }).run();
  server.close();
  expect(seen).toHaveLength(EXECUTIONS);
  expect(Math.max(...seen)).toBe(CONCURRENCY);
  expect(ahead, 'leased beyond the concurrency at some time').toBeGreaterThan(0);
  expect(await app.store.invariants()).toEqual([]);
});
