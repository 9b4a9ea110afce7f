import { DatabaseSync } from 'node:sqlite';
import { Webhook } from 'standardwebhooks';
import { expect, test } from 'vitest';
import { createApp } from '../../src/app.ts';
import { publishDue } from '../../src/engine/publish.ts';
import { findRun } from '../../src/engine/run.ts';
import { verifyRun } from '../../src/engine/verify/verify-run.ts';
import { createExamRun, storeIn, temporaryFolder } from '../support/chaos-exam.ts';
import { FINE, http, says, startAgent, work, writeScene } from '../support/failing-agent.ts';
import { startReceiver } from '../support/receiver.ts';
import { dropTriggers } from '../support/tampered-run.ts';

const HOOK = 'a secret of a webhook';
const NEVER = new AbortController().signal;

test('every stop of a run is told once, signed, as it was then, and before its end; forged and lost ones are found', async () => {
  await using folder = await temporaryFolder('paused');
  await using agent = await startAgent(says(401));
  await using receiver = await startReceiver((tries) => ({ status: tries === 1 ? 500 : 204 }));
  const hook = (of: string, ...events: string[]) => ({
    url: receiver.url.replace('hook', of),
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a reference as a profile writes it
    secret: '${secret:HOOK}',
    events,
  });
  const webhooks = [hook('both', 'run_completed', 'run_paused'), hook('ends', 'run_completed', 'run_failed')];
  await writeScene(folder.file, { agent: http(agent.port), cases: 5, profile: { webhooks } });
  await using app = await createApp({ cwd: folder.path, environment: { ...storeIn(folder.path), HOOK } });
  const runId = await createExamRun(app, folder.path);
  const sound = async () => {
    expect((await verifyRun(app, await findRun(app.store, runId), null)).found).toEqual([]);
    expect(await app.store.invariants()).toEqual([]);
  };

  expect(await work(app, runId)).toMatchObject({ paused: { class: 'http_401' } });
  expect(await publishDue(app, NEVER)).toBe(1);
  await sound();
  agent.conduct = says(403);
  await app.store.rearm(runId);
  expect(await work(app, runId)).toMatchObject({ paused: { class: 'http_403' } });
  agent.conduct = FINE;
  await app.store.rearm(runId);
  expect(await work(app, runId)).toMatchObject({ status: 'completed' });
  await sound();
  for (let round = 0; round < 3; round += 1) {
    later(folder.file('proctor.db'));
    await publishDue(app, NEVER);
  }

  const told = receiver.received.map(({ body, headers }) => ({
    id: headers['webhook-id'],
    ...(new Webhook(Buffer.from(HOOK).toString('base64')).verify(body, headers as Record<string, string>) as object),
  }));
  const stop = (name: string) => ({
    type: 'run_paused',
    data: {
      run_id: runId,
      status: 'running',
      gate_status: 'unknown',
      pass_rate: null,
      paused: { side: 'agent', class: name, cure: expect.stringContaining('check') },
      reason: expect.stringContaining('no call has worked'),
    },
  });
  const paths = (type: string) => told.filter((message) => (message as { type?: string }).type === type);
  expect(paths('run_paused')).toMatchObject([stop('http_401'), stop('http_401'), stop('http_403')]);
  expect(paths('run_completed')).toHaveLength(2); // one each
  const [first, again, second] = receiver.received.filter(({ body }) => body.includes('"type":"run_paused"'));
  expect(again?.body).toBe(first?.body); // though the run had ended meanwhile
  expect(again?.headers['webhook-id']).toBe(first?.headers['webhook-id']);
  expect(second?.headers['webhook-id']).not.toBe(first?.headers['webhook-id']);
  await sound();

  dropTriggers(folder.file('proctor.db'));
  const stops = "outbox where type = 'run_paused'";
  for (const forge of [
    `delete from ${stops} and outbox_no = 1`,
    "update outbox set type = 'run_paused', dedupe_key = 'run:x:paused:9' where type = 'run_completed'",
    ...[
      "body = replace(body, '401', '402')",
      'created_at = created_at - 1',
      "dedupe_key = replace(dedupe_key, 'paused', 'stopped')",
      "type = 'run_failed'",
    ].map((change) => `update outbox set ${change} where outbox_no = 1`),
    "insert into outbox select 99, run_no, dedupe_key || '9', type, body, created_at from outbox where outbox_no = 1",
  ]) {
    using db = new DatabaseSync(folder.file('proctor.db'), { enableForeignKeyConstraints: false });
    const rows = db.prepare('select * from outbox').all();
    db.exec(forge);
    const { found } = await verifyRun(app, await findRun(app.store, runId), null);
    expect(
      found.map(({ where }) => where),
      forge,
    ).toContain('outbox');
    db.exec('delete from outbox');
    for (const row of rows) db.prepare('insert into outbox values (?, ?, ?, ?, ?, ?)').run(...Object.values(row));
  }
  await sound();
});

/** Makes every waiting delivery due now. */
function later(file: string): void {
  using db = new DatabaseSync(file);
  db.exec("update delivery set next_at = 0, lease_until = null where status in ('pending', 'failed')");
}
