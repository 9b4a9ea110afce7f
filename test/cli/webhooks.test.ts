import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Webhook } from 'standardwebhooks';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { builtPackage } from '../support/built-package.ts';
import { proctor, run, temporaryFolder } from '../support/cli.ts';
import { examine, writeExamination } from '../support/examined.ts';
import { type Received, startReceiver } from '../support/receiver.ts';
import { bracketed, eventually } from '../support/waiting.ts';

const HOOK = `whsec_${randomBytes(32).toString('base64')}`;

function verified({ headers, body }: Received): { type: string; data: Record<string, unknown> } {
  return new Webhook(HOOK).verify(body, headers as Record<string, string>) as never;
}

function profileOf(url: string, more: object = {}) {
  // biome-ignore lint/suspicious/noTemplateCurlyInString: a reference as a profile writes it
  return { webhooks: [{ url, secret: '${secret:HOOK}', ...more }] };
}

interface Delivery {
  readonly status: string;
  readonly attempts: number;
  readonly next_at: string | null;
  readonly last_status: number | null;
  readonly last_error: string | null;
}

async function deliveries(at: string): Promise<Delivery[]> {
  const listed = await proctor(at, ['webhooks', 'list', '--json']);
  return listed.stdout
    .trim()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Delivery);
}

/** Makes every waiting delivery due now: the clock of the retry table, turned on. */
function later(at: string): void {
  const db = new DatabaseSync(path.join(at, '.proctor/proctor.db'));
  db.exec("update delivery set next_at = 0, lease_until = null where status in ('pending', 'failed')");
  db.close();
}

test('a completed run is told once, signed by Standard Webhooks, and the secret is nowhere in the store', async () => {
  await using folder = await temporaryFolder();
  await using receiver = await startReceiver(() => ({ status: 204 }));
  const done = await examine(folder.path, { cases: 3, profile: profileOf(receiver.url) }, { HOOK });
  expect(receiver.received).toHaveLength(1);
  const [message] = receiver.received.map(verified);
  expect(message).toMatchObject({
    type: 'run_completed',
    data: {
      run_id: done.run_id,
      status: 'completed',
      gate_status: 'pass',
      pass_rate: 1,
      evidence_root: done['evidence_root'],
    },
  });
  expect(receiver.received[0]?.headers['webhook-id']).toBe(`run:${done.run_id}:final`);
  expect(await deliveries(folder.path)).toMatchObject([{ status: 'published', attempts: 1, last_status: 204 }]);
  const store = await readFile(path.join(folder.path, '.proctor/proctor.db'));
  expect(store.includes(HOOK)).toBe(false);
  expect((await proctor(folder.path, ['webhooks', 'deliver', '--json'], { HOOK })).stdout).toBe(
    '{"tries":0,"waiting":0,"dead":0}\n',
  );
});

test('a receiver that is down, answers 500 and 429, then 200: the same message under the same id, by the table', async () => {
  await using folder = await temporaryFolder();
  const at = folder.path;
  let port = 0;
  {
    await using closed = await startReceiver(() => ({ status: 200 }));
    port = closed.port;
  }
  const url = `http://127.0.0.1:${port}/hook`;
  const first = await proctor((await prepared(at, url)).path, ['run', 'profile.json', '--json', '--quiet'], { HOOK });
  expect(first).toMatchObject({ code: 0 });
  expect(first.stderr).toContain('not through yet');
  expect(await deliveries(at)).toMatchObject([{ status: 'failed', attempts: 1, last_status: null }]);
  expect((await proctor(at, ['webhooks', 'deliver', '--json'], { HOOK })).stdout).toContain('"tries":0'); // five seconds later

  const answers = [{ status: 500 }, { status: 429, headers: { 'retry-after': '120' } }, { status: 200 }];
  await using receiver = await startReceiver((tries) => answers[tries - 1] ?? { status: 599 }, port);
  const due: { readonly at: number; readonly from: number; readonly to: number }[] = [];
  for (let round = 0; round < 3; round += 1) {
    later(at);
    const tried = await bracketed(() => proctor(at, ['webhooks', 'deliver'], { HOOK }));
    const [row] = await deliveries(at);
    if (row?.next_at) due.push({ at: Date.parse(row.next_at), ...tried });
  }
  expect(await deliveries(at)).toMatchObject([
    { status: 'published', attempts: 4, last_status: 200, last_error: null },
  ]);
  expect(due).toHaveLength(2);
  expect(due[0]?.at).toBeGreaterThanOrEqual((due[0]?.from ?? 0) + 0.9 * 300_000);
  expect(due[0]?.at).toBeLessThanOrEqual((due[0]?.to ?? 0) + 1.1 * 300_000);
  expect(due[1]?.at).toBeGreaterThanOrEqual((due[1]?.from ?? 0) + 0.9 * 1_800_000); // the table, above what Retry-After asks
  expect(new Set(receiver.received.map(({ body }) => body)).size).toBe(1);
  expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
  for (const received of receiver.received) verified(received);
});

async function prepared(at: string, url: string): Promise<{ path: string }> {
  await writeExamination(at, { cases: 2, profile: profileOf(url) });
  return { path: at };
}

test('410 gives the endpoint up, for every run that waits for it; replay sends it again', async () => {
  await using folder = await temporaryFolder();
  const at = folder.path;
  let status = 500;
  await using receiver = await startReceiver(() => ({ status }));
  await examine(at, { cases: 2, profile: profileOf(receiver.url) }, { HOOK });
  status = 410;
  await examine(at, { cases: 2, profile: profileOf(receiver.url) }, { HOOK });
  expect((await deliveries(at)).map((row) => row.status)).toEqual(['dead', 'dead']);
  status = 200;
  expect((await proctor(at, ['webhooks', 'deliver', '--json'], { HOOK })).stdout).toContain(
    '"tries":0,"waiting":0,"dead":2',
  );
  expect((await proctor(at, ['webhooks', 'replay', '--json'])).stdout).toBe('{"replayed":2}\n');
  await proctor(at, ['webhooks', 'deliver'], { HOOK });
  expect((await deliveries(at)).map((row) => row.status)).toEqual(['published', 'published']);
});

test('a table that is spent ends dead; redirects are not followed; what cannot be sent is told before the run', async () => {
  await using folder = await temporaryFolder();
  const at = folder.path;
  await using receiver = await startReceiver(() => ({ status: 302, headers: { location: 'http://169.254.169.254/' } }));
  await examine(at, { cases: 2, profile: profileOf(receiver.url) }, { HOOK });
  for (let round = 0; round < 9; round += 1) {
    later(at);
    await proctor(at, ['webhooks', 'deliver'], { HOOK });
  }
  expect(await deliveries(at)).toMatchObject([{ status: 'dead', attempts: 10, last_status: 302 }]);
  expect(receiver.received).toHaveLength(10);

  await using other = await temporaryFolder();
  await writeExamination(other.path, { cases: 2, profile: profileOf(receiver.url) });
  const unset = await proctor(other.path, ['run', 'profile.json']);
  expect(unset).toMatchObject({ code: 2 });
  expect(unset.stderr).toContain('HOOK');
  const short = await proctor(other.path, ['run', 'profile.json'], { HOOK: 'short' });
  expect(short.stderr).toContain('at least 16');
  for (const [url, told] of [
    ['http://hooks.example/x', 'unencrypted'],
    ['https://user:pass@hooks.example/', 'credentials'],
    ['nonsense', 'not a URL'],
  ] as const) {
    await writeExamination(other.path, { cases: 2, profile: profileOf(url) });
    const refused = await proctor(other.path, ['check', 'profile.json']);
    expect(refused).toMatchObject({ code: 2 });
    expect(refused.stderr).toContain(told);
  }
  await writeExamination(other.path, { cases: 2, profile: { webhooks: [{ url: receiver.url, secret: HOOK }] } });
  expect((await proctor(other.path, ['check', 'profile.json'])).stderr).toContain('must be a reference');
});

test('a name that leads to a private address is refused at the connection; cancelled runs are told when that is wanted', async () => {
  await using folder = await temporaryFolder();
  const at = folder.path;
  await using receiver = await startReceiver(() => ({ status: 200 }));
  const hooks = profileOf(receiver.url, { events: ['run_cancelled', 'run_failed'] });
  const denied = {
    ...hooks.webhooks[0],
    url: receiver.url.replace('/hook', '/denied'),
    private_addresses: 'deny',
    events: ['run_completed'],
  };
  await writeExamination(at, { cases: 2, profile: { webhooks: [...hooks.webhooks, denied] } });
  await proctor(at, ['run', 'profile.json', '--detach'], { HOOK });
  await proctor(at, ['cancel', 'last']);
  await proctor(at, ['resume', 'last', '--quiet'], { HOOK });
  await proctor(at, ['webhooks', 'deliver'], { HOOK });
  expect(receiver.received.map(verified)).toMatchObject([{ type: 'run_cancelled', data: { status: 'cancelled' } }]);
  await proctor(at, ['run', 'profile.json', '--quiet'], { HOOK });
  expect(receiver.received).toHaveLength(1);
  expect((await deliveries(at))[0]).toMatchObject({ status: 'failed', last_status: null });
  expect((await deliveries(at))[0]?.last_error).toContain('address_refused');
});

test('webhooks test tries the endpoints of a profile once', async () => {
  await using folder = await temporaryFolder();
  await using receiver = await startReceiver((tries) => ({ status: tries === 1 ? 200 : 503 }));
  await writeExamination(folder.path, { cases: 1, profile: profileOf(receiver.url) });
  await writeFile(path.join(folder.path, 'agent.mjs'), '');
  expect(await proctor(folder.path, ['webhooks', 'test', 'profile.json'], { HOOK })).toMatchObject({ code: 0 });
  expect(verified(receiver.received[0] as Received)).toMatchObject({ type: 'test' });
  const second = await proctor(folder.path, ['webhooks', 'test', 'profile.json', '--json'], { HOOK });
  expect(second).toMatchObject({ code: 1 });
  expect(JSON.parse(second.stdout)).toMatchObject({ ok: false, status: 503 });
});

test('a publisher that is killed before and after every one of its writes loses nothing: every end arrives, signed, under one id a run', async () => {
  await using folder = await temporaryFolder();
  const at = folder.path;
  await using receiver = await startReceiver((tries) => ({ status: tries % 3 === 0 ? 500 : 204 }));
  await writeExamination(at, { cases: 1, profile: profileOf(receiver.url) });
  const runs: string[] = [];
  for (let index = 0; index < 3; index += 1) {
    const created = await proctor(at, ['run', 'profile.json', '--detach', '--json'], { HOOK });
    runs.push((JSON.parse(created.stdout) as { run_id: string }).run_id);
    // Worked on by a process that has no way to send: what it ends waits in the outbox.
    await proctor(at, ['resume', 'last', '--quiet'], { HOOK_FILE: '/nonexistent' });
  }
  const publisher = builtPackage().other('crashing-publisher');
  let killed = 0;
  for (let number = 1; number <= 6; number += 1) {
    for (const when of ['before', 'after']) {
      later(at);
      const args = ['--disable-warning=ExperimentalWarning', publisher, when, String(number)];
      const ended = await run(process.execPath, args, at, { HOOK });
      if (ended.code === null) killed += 1;
      else expect(ended, ended.stderr).toMatchObject({ code: 0 });
    }
  }
  expect(killed).toBeGreaterThanOrEqual(4);
  for (let round = 0; round < 3; round += 1) {
    later(at);
    await proctor(at, ['webhooks', 'deliver'], { HOOK });
  }
  expect((await deliveries(at)).map((row) => row.status)).toEqual(['published', 'published', 'published']);
  const arrived = receiver.received
    .filter(({ answered }) => answered === 204)
    .map((received) => verified(received).data['run_id']);
  expect(new Set(arrived)).toEqual(new Set(runs));
  const bodies = Map.groupBy(receiver.received, ({ headers }) => headers['webhook-id']);
  expect(bodies.size).toBe(3);
  for (const tries of bodies.values()) expect(new Set(tries.map(({ body }) => body)).size).toBe(1);
});

test('a receiver that never answers or dies in the middle is tried again, and the run does not wait for it for ever', async () => {
  await using folder = await temporaryFolder();
  const at = folder.path;
  const slow = await startReceiver(() => ({ status: 200, delay_ms: 600_000 }));
  const first = await examine(at, { cases: 1, profile: profileOf(slow.url) }, { HOOK });
  expect(first.gate_status).toBe('pass');
  expect(await deliveries(at)).toMatchObject([{ status: 'failed', attempts: 1, last_status: null }]);
  expect((await deliveries(at))[0]?.last_error).toContain('timeout');
  // It dies with the message in its hands.
  later(at);
  const trying = proctor(at, ['webhooks', 'deliver'], { HOOK });
  await eventually('the second try', () => (slow.received.length < 2 ? null : true));
  await slow[Symbol.asyncDispose]();
  await trying;
  expect(await deliveries(at)).toMatchObject([{ status: 'failed', attempts: 2, last_status: null }]);
  await using receiver = await startReceiver(() => ({ status: 200 }), slow.port);
  later(at);
  await proctor(at, ['webhooks', 'deliver'], { HOOK });
  expect(await deliveries(at)).toMatchObject([{ status: 'published', attempts: 3 }]);
  expect(receiver.received.map((received) => verified(received).data['run_id'])).toEqual([first.run_id]);
});

test('an endpoint that asked to be left alone is, by runs that end later too', async () => {
  await using folder = await temporaryFolder();
  const at = folder.path;
  await using receiver = await startReceiver(() => ({ status: 429, headers: { 'retry-after': '3600' } }));
  const begun = systemClock.now();
  await examine(at, { cases: 1, profile: profileOf(receiver.url) }, { HOOK });
  expect(receiver.received).toHaveLength(1);
  await examine(at, { cases: 1, profile: profileOf(receiver.url) }, { HOOK });
  expect(receiver.received).toHaveLength(1);
  const [waiting] = await deliveries(at);
  expect(waiting).toMatchObject({ status: 'pending', attempts: 0 });
  expect(Date.parse(waiting?.next_at ?? '')).toBeGreaterThanOrEqual(begun + 3_500_000);
});
