import { spawnSync } from 'node:child_process';
import { mkdir, rm, statfs, writeFile } from 'node:fs/promises';
import { afterAll, describe, expect, test } from 'vitest';
import { temporaryFolder } from '../support/chaos-exam.ts';
import { leavesOut } from '../support/chaos-needs.ts';
import { eventChainProblem } from '../support/gateway-chain.ts';
import { allowAll, askAll, behindItsBack, calls, gatewayProject, RECORDING } from '../support/gateway-project.ts';
import { threat } from '../support/gateway-threats.ts';

const mounted = new Set<string>();
afterAll(() => {
  for (const path of mounted) spawnSync('umount', ['--lazy', path]);
});
const leftOut = leavesOut(await whyNoMount(), 'what the gateway does when the disk is full');

describe(threat(24, 'an altered record is found, by its place'), () => {
  const alterations: Readonly<Record<string, readonly [sql: string, found: RegExp]>> = {
    'a body': [
      "update gateway_event set body = json_set(body, '$.principal', 'agent:other') where seq = 4",
      /^event 4 /,
    ],
    'a type': ["update gateway_event set type = 'approval_denied' where type = 'approval_granted'", /^event \d+ /],
    'an instant': ['update gateway_event set at = at + 1 where seq = 5', /^event 5 /],
    'which call it is about': ['update gateway_event set tool_run_no = 2 where seq = 4', /^event 4 /],
    'a row taken out': ['delete from gateway_event where seq = 4', /^event 5 .*not the next/],
    'the first row': ['delete from gateway_event where seq = 1', /^event 2 .*not the next/],
    'two rows swapped': [
      'update gateway_event set seq = case seq when 4 then 100004 else 100005 end where seq in (4, 5); update gateway_event set seq = case seq when 100004 then 5 else 4 end where seq > 100000',
      /^event [45] /,
    ],
    'the last row': ['delete from gateway_event where seq = (select max(seq) from gateway_event)', /^the head counts/],
  };

  test.each(Object.entries(alterations))('%s', async (_, [sql, found]) => {
    await using project = await gatewayProject({ ...RECORDING, policy: askAll() });
    const { run } = await project.call('own.act', { n: 1 });
    await project.answer(run.approval_id ?? '');
    await project.call('own.act', { n: 1 }, { hold_ms: 5_000 });
    await project.call('own.act', { n: 2 });
    const look = async () => eventChainProblem(await project.stream(), behindItsBack(project.store, headOf));
    expect(await look()).toBeNull();

    behindItsBack(project.store, (db) => {
      for (const { name } of db.prepare("select name from sqlite_schema where type = 'trigger'").all())
        db.exec(`drop trigger "${String(name)}"`);
      db.exec(sql);
    });

    expect(await look()).toMatch(found);
  });

  test.each([
    "update gateway_event set type = 'x'",
    'delete from gateway_event',
    "update tool_run set arguments = '{}'",
    "update tool_run set status = 'ok'",
    "update approval set decided_by = 'human:mallory'",
    'update gateway_head set event_count = 0',
    'delete from tool_run',
    'delete from approval',
  ])('as long as its triggers are there, the store refuses: %s', async (sql) => {
    await using project = await gatewayProject({ ...RECORDING, policy: askAll() });
    const { run } = await project.call('own.act', { n: 1 });
    await project.answer(run.approval_id ?? '');
    await project.call('own.act', { n: 1 }, { hold_ms: 5_000 });
    expect(() => behindItsBack(project.store, (db) => db.exec(sql))).toThrow(/proctor: /);
  });
});

describe(threat(24, 'what cannot be written down is not done'), () => {
  test.each([
    'tool_called',
    'policy_decided',
    'approval_requested',
    'approval_granted',
    'approval_consumed',
    'tool_dispatched',
  ])('an event `%s` that the store refuses: nothing is called, and nothing of it is left', async (type) => {
    await using project = await gatewayProject({ ...RECORDING, policy: askAll() });
    const refuse = (on: boolean) =>
      behindItsBack(project.store, (db) =>
        db.exec(
          on
            ? `create trigger refused before insert on gateway_event when new.type = '${type}' begin select raise(abort, 'no room'); end`
            : 'drop trigger refused',
        ),
      );
    const life = async () => {
      const { run } = await project.call('own.act', {});
      expect(await project.answer(run.approval_id ?? '')).toMatchObject({ type: 'answered' });
      return await project.call('own.act', {}, { hold_ms: 5_000 });
    };
    refuse(true);
    await expect(life()).rejects.toMatchObject({ code: 'store_failed', message: expect.stringMatching(/no room/) });
    expect(await calls(project)).toEqual([]);
    expect(eventChainProblem(await project.stream(), behindItsBack(project.store, headOf))).toBeNull();
    expect(await project.app.store.invariants()).toEqual([]);

    refuse(false);
    // Where it was approved already it goes on as approved; the person is not asked twice.
    const after = await project.call('own.act', {});
    if (after.ended === 'approval_required') await project.answer(after.run.approval_id ?? '');
    const done = after.ended === 'ok' ? after : await project.call('own.act', {}, { hold_ms: 5_000 });
    expect(done.ended).toBe('ok');
    expect(await calls(project)).toHaveLength(1);
  });

  test('an outcome that the store refuses is not told as one: the call ends unknown, and is not made again', async () => {
    const folder = await gatewayProject({ ...RECORDING, policy: askAll() });
    await using project = folder;
    const { run } = await project.call('own.act', {});
    await project.answer(run.approval_id ?? '');
    const trigger =
      "create trigger refused before insert on gateway_event when new.type = 'tool_succeeded' begin select raise(abort, 'no room'); end";
    {
      await using second = await project.another();
      behindItsBack(project.store, (db) => db.exec(trigger));
      await expect(second.call('own.act', {}, { hold_ms: 5_000 })).rejects.toMatchObject({ code: 'store_failed' });
      behindItsBack(project.store, (db) => db.exec('drop trigger refused'));
    }
    const { ended, run: later } = await project.call('own.act', {}, { hold_ms: 5_000 });
    expect([later.tool_run_id, ended]).toEqual([run.tool_run_id, 'error TOOL_OUTCOME_UNKNOWN']);
    expect(await calls(project)).toHaveLength(1);
  });

  test.skipIf(leftOut)('a full disk: every call is refused, nothing is called; with room it goes on', async () => {
    await using folder = await temporaryFolder('gateway-disk');
    const disk = folder.file('disk');
    await mkdir(disk);
    expect(spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=16m', 'tmpfs', disk]).status).toBe(0);
    mounted.add(disk);
    {
      await using project = await gatewayProject({
        ...RECORDING,
        policy: allowAll(),
        environment: { PROCTOR_DB: `${disk}/proctor.db`, PROCTOR_ARTIFACTS: folder.file('artifacts') },
      });
      expect((await project.call('own.act', { n: 0 })).ended).toBe('ok');
      const { bavail, bsize } = await statfs(disk);
      await writeFile(`${disk}/ballast`, Buffer.alloc(bavail * bsize));
      for (const n of [1, 2, 3])
        await expect(project.call('own.act', { n, pad: 'x'.repeat(100_000) })).rejects.toMatchObject({
          code: 'store_full',
        });
      expect(await calls(project)).toHaveLength(1);
      await rm(`${disk}/ballast`);
      expect((await project.call('own.act', { n: 4 })).ended).toBe('ok');
      expect((await calls(project)).map(({ input }) => input)).toEqual([{ n: 0 }, { n: 4 }]);
      expect(await project.app.store.invariants()).toEqual([]);
    }
    expect(spawnSync('umount', [disk]).status).toBe(0);
    mounted.delete(disk);
  });

  test('an artifact that cannot be kept: the call has an end that says so', async () => {
    await using project = await gatewayProject({
      files: {
        'big.ts': `export const tools = { big: { input_schema: { type: 'object' }, run: () => 'x'.repeat(200_000) } };`,
      },
      tools: { own: { kind: 'module', path: 'big.ts' } },
      policy: allowAll(),
    });
    await rm(project.app.places.artifacts, { recursive: true, force: true });
    await writeFile(project.app.places.artifacts, 'a file where the folder should be');

    const { ended, message, run } = await project.call('own.big', {});

    expect(ended).toBe('error output_not_kept');
    expect(message).toMatch(/the tool was called, but its output could not be kept/);
    expect(await project.events(run.tool_run_id)).toContain('tool_failed');
  });
});

async function whyNoMount(): Promise<string | null> {
  if (process.platform !== 'linux') return 'only Linux has a small disk in memory';
  await using folder = await temporaryFolder('mount');
  const mount = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', folder.path]);
  if (mount.status !== 0) return `a file system cannot be mounted (${String(mount.stderr ?? mount.error).trim()})`;
  const unmount = spawnSync('umount', [folder.path]);
  return unmount.status === 0 ? null : `umount failed: ${unmount.stderr}`;
}

function headOf(db: Parameters<Parameters<typeof behindItsBack>[1]>[0]): number {
  return Number(db.prepare('select event_count from gateway_head where stream = 0').get()?.['event_count'] ?? 0);
}
