import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { expect, test } from 'vitest';
import type { ExecutionDocument, RunDocument } from '../../src/contract/documents.ts';
import { proctor, temporaryFolder } from '../support/cli.ts';
import { proctorHere } from '../support/in-process.ts';

/** What each case comes to, call by call; the last one goes on for ever. `works` is the first, so that no breaker stops the run. */
const STATUSES: Readonly<Record<string, readonly number[]>> = {
  works: [200],
  ungraded: [200],
  down: [503],
  wrong: [500],
  mixed: [503, 500, 503, 500],
};

/** An agent that answers by those statuses, every run anew. */
async function startAgent() {
  const calls = new Map<string, number>();
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { run_id, case: item } = JSON.parse(Buffer.concat(chunks).toString()) as {
      run_id: string;
      case: { case_id: string };
    };
    const key = `${run_id} ${item.case_id}`;
    const call = calls.get(key) ?? 0;
    calls.set(key, call + 1);
    const statuses = STATUSES[item.case_id] ?? [];
    response.writeHead(statuses[call] ?? statuses.at(-1) ?? 200).end(JSON.stringify({ text: item.case_id }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

test('max_attempts bounds the attempts of an execution whatever they fail by; without it the budgets under retry do', async () => {
  await using folder = await temporaryFolder();
  await using agent = await startAgent();
  const file = (name: string) => path.join(folder.path, name);
  const cases = Object.keys(STATUSES).map((id) => JSON.stringify({ id, input: id }));
  await writeFile(file('cases.jsonl'), cases.join('\n'));
  await writeFile(
    file('grade.mjs'),
    "export const grade = ({ envelope }) => ({ status: envelope.text === 'ungraded' ? 'error' : 'passed', reason: 'said so' });\n",
  );
  const runWith = async (members: object) => {
    const profile = {
      profile_id: 'attempts',
      agent: { kind: 'http', name: 'a', version: '1', endpoint: { url: agent.url } },
      dataset: { path: 'cases.jsonl' },
      limits: { concurrency: 1 },
      case_groups: [{ id: 'all', evaluators: [{ ref: 'module:grade.mjs#grade' }] }],
      ...members,
    };
    await writeFile(file('profile.json'), JSON.stringify(profile));
    return await proctor(folder.path, ['run', 'profile.json', '--json', '--quiet']);
  };
  const retry = { infrastructure: 3, grader: 2, backoff: { base_ms: 1, cap_ms: 1 } };
  for (const [members, wanted] of [
    [{ retry }, { works: 1, ungraded: 3, down: 4, wrong: 1, mixed: 2 }],
    [
      { retry, defaults: { max_attempts: 2 } },
      { works: 1, ungraded: 2, down: 2, wrong: 1, mixed: 2 },
    ],
    [
      { retry, defaults: { max_attempts: 1 } },
      { works: 1, ungraded: 1, down: 1, wrong: 1, mixed: 1 },
    ],
    [{ retry: { ...retry, agent_errors: true } }, { works: 1, ungraded: 3, down: 4, wrong: 2, mixed: 4 }],
    [
      { retry: { ...retry, agent_errors: true }, defaults: { max_attempts: 3 } },
      { works: 1, ungraded: 3, down: 3, wrong: 3, mixed: 3 },
    ],
  ] as const) {
    const done = await runWith(members);
    const { run_id } = JSON.parse(done.stdout) as RunDocument;
    const shown = await proctorHere(folder.path, ['show', run_id, '--executions', '--json']);
    const executions = shown.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as ExecutionDocument);
    expect(Object.fromEntries(executions.map(({ case_id, attempts }) => [case_id, attempts.length]))).toEqual(wanted);
  }
  expect((await proctorHere(folder.path, ['verify', 'last'])).code).toBe(0);
  const refused = await runWith({ retry: { agent_errors: true }, defaults: { max_attempts: 1 } });
  expect(refused.code).toBe(2);
  expect(refused.stdout).toContain('agent errors are to be retried, but an execution has one attempt');
});
