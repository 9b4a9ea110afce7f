import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { tablesOf } from '../support/checked-store.ts';
import type { CliResult } from '../support/cli.ts';
import { writeExamination } from '../support/examined.ts';
import { proctorHere } from '../support/in-process.ts';
import { dropTriggers } from '../support/tampered-run.ts';
import { columnsOf } from '../support/tampered-store.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'proctor-absurd-'));
const store = path.join(folder, '.proctor/proctor.db');
const kept = path.join(folder, 'kept.db');
let done: string;

beforeAll(async () => {
  // biome-ignore lint/suspicious/noTemplateCurlyInString: a reference as a profile writes it
  const webhooks = [{ url: 'http://127.0.0.1:9/', secret: '${secret:HOOK}', events: ['run_cancelled'] }];
  await writeExamination(folder, { cases: 2, profile: { webhooks } });
  process.env['HOOK'] = 'a secret of a webhook';
  const ran = await here('run', 'profile.json', '--quiet', '--json');
  expect(ran.code, ran.stderr).toBe(0);
  done = (JSON.parse(ran.stdout) as { run_id: string }).run_id;
  expect(await here('bless', done)).toMatchObject({ code: 0 });
  for (const argv of [
    ['run', 'profile.json', '--detach'],
    ['cancel', 'last'],
    ['run', 'profile.json', '--detach'],
  ])
    expect(await here(...argv), argv.join(' ')).toMatchObject({ code: 0 }); // cancelled, with a delivery that waits; pending
  dropTriggers(store);
  using db = new DatabaseSync(store);
  db.exec('pragma wal_checkpoint(truncate)');
  copyFileSync(store, kept);
});

afterAll(() => {
  delete process.env['HOOK'];
  rmSync(folder, { recursive: true, force: true });
});

async function here(...argv: string[]): Promise<CliResult> {
  return await proctorHere(folder, argv);
}

function alter(sql: string): void {
  for (const suffix of ['', '-wal', '-shm']) rmSync(`${store}${suffix}`, { force: true });
  copyFileSync(kept, store);
  using db = new DatabaseSync(store, { enableForeignKeyConstraints: false });
  db.exec('pragma ignore_check_constraints = on');
  db.exec(sql);
}

/** Ends by an exit code that is documented, without a trace of a stack or a number that is none. */
function expectTold({ code, stdout, stderr }: CliResult, what: string): void {
  expect(stderr, what).not.toMatch(/^\s+at .*:\d+/m);
  expect(`${stdout}${stderr}`, what).not.toMatch(/\bNaN\b|Infinity|Invalid time|RangeError|"code":"internal"/);
  expect([0, 1, 2, 3, 5], what).toContain(code);
  if (code === 3 && stdout === '') expect(stderr, what).toMatch(/restore a backup|has (not|no)/);
}

const READING = () => [
  ['show', done],
  ['show', done, '--json'],
  ['show', done, '--executions', '--json'],
  ['show', 'last'],
  ['verify', done],
  ['runs'],
  ['runs', '--json'],
  ['export', done, '--format', 'csv'],
  ['webhooks', 'list'],
  ['watch', done],
];
const WRITING = () => [
  ['run', 'profile.json', '--quiet'],
  ['resume', 'last', '--quiet'],
  ['cancel', 'last'],
  ['bless', 'last'],
  ['webhooks', 'deliver'],
];
const NONE = [
  '-1',
  '9e15',
  '9000000000000000',
  '9007199254740992',
  '9223372036854775807',
  "'soon'",
  "''",
  'null',
  '1.5',
];

test.each(NONE)(
  'a last instant of %s: everything can be read, nothing is written, and doctor says why',
  async (value) => {
    alter(`update meta set value = ${value} where key = 'last_now'`);
    for (const argv of READING()) {
      const told = await here(...argv);
      expectTold(told, argv.join(' '));
      expect(told.code, `${argv.join(' ')}: ${told.stderr}`).toBe(0);
    }
    for (const argv of WRITING()) {
      const told = await here(...argv);
      expectTold(told, argv.join(' '));
      if (['run', 'cancel', 'resume'].includes(argv[0] ?? ''))
        expect(told, argv.join(' ')).toMatchObject({ code: 3, stderr: expect.stringContaining('`meta.last_now`') });
    }
    for (const argv of [['doctor'], ['doctor', '--verify'], ['doctor', '--verify', '--json']]) {
      const told = await here(...argv);
      expectTold(told, argv.join(' '));
      expect(told, argv.join(' ')).toMatchObject({ code: 1, stdout: expect.stringContaining('`meta.last_now`') });
      expect(told.stdout).toContain('restore a backup');
      if (argv.length > 1) expect(told.stdout).toContain('which is not an instant');
    }
  },
);

test('a last instant of 0 is found by doctor, and keeps nobody from working', async () => {
  alter("update meta set value = 0 where key = 'last_now'");
  const doctor = await here('doctor', '--verify');
  expect(doctor).toMatchObject({ code: 1, stdout: expect.stringContaining('before the last event') });
  for (const argv of READING()) expect((await here(...argv)).code, argv.join(' ')).toBe(0);
  expect((await here('run', 'profile.json', '--quiet')).code).toBe(0);
});

test.each(['9000000000000000', '9007199254740992'])(
  'no command breaks over %s in any column with a time',
  async (value) => {
    const columns = timeColumns();
    expect(columns.length).toBeGreaterThan(35);
    for (const [table, column] of columns) {
      alter(`update ${table} set ${column} = ${value}`);
      for (const argv of [
        ...READING().filter((one) => !one.includes('--json')),
        ['doctor', '--verify'],
        ['watch', done, '--events'],
      ])
        expectTold(await here(...argv), `${table}.${column}: ${argv.join(' ')}`);
    }
  },
);

function timeColumns(): (readonly [table: string, column: string])[] {
  using db = new DatabaseSync(kept, { readOnly: true });
  return tablesOf(db).flatMap((table) =>
    columnsOf(db, table)
      .filter(({ name, type }) => type === 'INTEGER' && /(^|_)(at|until|to|wall|ms)$/.test(name))
      .map(({ name }) => [table, name] as const),
  );
}
