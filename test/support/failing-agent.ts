import { writeFile } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { App } from '../../src/app.ts';
import type { RunDocument } from '../../src/contract/documents.ts';
import { describeRun } from '../../src/engine/describe.ts';
import { findRun } from '../../src/engine/run.ts';
import { Worker } from '../../src/engine/worker.ts';

/** Cases of a scene, unless said. */
export const CASES = 40;

/** How an agent answers a call. */
export type Answer = (response: ServerResponse, call: number, caseId: string) => void;

/** An agent that answers so. */
export const says =
  (status: number, body: unknown = {}, headers: Record<string, string> = {}): Answer =>
  (response) =>
    void response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
export const FINE = says(200, { text: 'yes' });
export const unless =
  (fine: (call: number, caseId: string) => boolean, otherwise: Answer): Answer =>
  (response, call, caseId) =>
    (fine(call, caseId) ? FINE : otherwise)(response, call, caseId);

/** An agent on loopback whose conduct may be changed. */
export async function startAgent(conduct: Answer) {
  const agent = { conduct, calls: 0, port: 0 };
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      agent.calls += 1;
      const { case: item } = JSON.parse(Buffer.concat(chunks).toString()) as { case: { case_id: string } };
      agent.conduct(response, agent.calls, item.case_id);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  agent.port = (server.address() as AddressInfo).port;
  return Object.assign(agent, {
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  });
}

/** A run whose calls may fail. */
interface Scene {
  readonly agent: object;
  readonly cases?: number;
  readonly profile?: object;
  readonly evaluators?: readonly object[];
}

/** Writes profile and cases. */
export async function writeScene(
  file: (name: string) => string,
  { agent, cases = CASES, profile, evaluators }: Scene,
): Promise<void> {
  const items = Array.from({ length: cases }, (_, index) => ({ id: `c${index + 1}`, input: 'x', expected: 'yes' }));
  await writeFile(file('cases.json'), JSON.stringify({ cases: items }));
  await writeFile(
    file('profile.json'),
    JSON.stringify({
      profile_id: 'breaker',
      dataset: { path: 'cases.json' },
      agent: { name: 'agent', version: '1', ...agent },
      retry: { infrastructure: 3, backoff: { base_ms: 20, cap_ms: 100 } },
      limits: { concurrency: 4 },
      case_groups: [{ id: 'all', evaluators: evaluators ?? [{ ref: 'exact_match@1' }] }],
      ...profile,
    }),
  );
}

/** Works on the run in this process, as so many workers, until each has nothing to do. */
export async function work(app: App, runId: string, workers = 1): Promise<RunDocument> {
  const options = {
    run_ids: [runId],
    concurrency: 4,
    lease_ms: 30_000,
    base_dir: null,
    drain_ms: 1_000,
    notice: () => undefined,
  };
  await Promise.all(
    Array.from({ length: workers }, (_, index) =>
      new Worker(app, { ...options, name: `w${index}`, drain: new AbortController().signal }).run(),
    ),
  );
  return await describeRun(app.store, await findRun(app.store, runId));
}

export const http = (port: number) => ({ kind: 'http', endpoint: { url: `http://127.0.0.1:${port}/` } });
