import { generateKeyPairSync } from 'node:crypto';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isBundleFile, verifyBundleFile } from '../../src/app.ts';
import { ProctorError } from '../../src/contract/problem.ts';
import { seededRandom, seedOf } from '../../src/core/statistics/seeded-random.ts';
import { headLine, lineOf } from '../../src/store/sqlite/bundle-format.ts';
import { type BundlePart, partsOf, resealed } from '../support/bundle-edit.ts';
import { DAMAGES, REWRITES, SEALS } from '../support/bundle-forgeries.ts';
import { proctor } from '../support/cli.ts';
import { examine } from '../support/examined.ts';

const FIXTURES = path.resolve(import.meta.dirname, '../fixtures/format-1');
let folder = '';
let sound: Buffer;
let parts: BundlePart[];
let key = '';
const at = (name: string) => path.join(folder, name);

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'proctor-bytes-'));
  const pair = generateKeyPairSync('ed25519');
  key = pair.publicKey.export({ type: 'spki', format: 'pem' }).toString();
  writeFileSync(at('key.pem'), pair.privateKey.export({ type: 'pkcs8', format: 'pem' }));
  await examine(folder, { cases: 4, wrong: [2] });
  await proctor(folder, ['correct', 'last', 'c0002', '--status', 'passed', '--reason', 'looked at it']);
  const bundle = ['export', 'last', '--format', 'bundle', '--sign', 'key.pem', '--out'];
  expect(await proctor(folder, [...bundle, 'run.proctor'])).toMatchObject({ code: 0 });
  expect(await proctor(folder, [...bundle, 'again.proctor'])).toMatchObject({ code: 0 });
  sound = readFileSync(at('run.proctor'));
  parts = partsOf(sound);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** `sound`, `differs`, `refused` as no bundle that Proctor made, or `no bundle` at all. */
async function told(bytes: Buffer, given: string | null = null): Promise<string> {
  writeFileSync(at('altered.proctor'), bytes);
  return await toldOf(at('altered.proctor'), given);
}

async function toldOf(file: string, given: string | null = null): Promise<string> {
  if (!(await isBundleFile(file))) return 'no bundle';
  try {
    return (await verifyBundleFile(file, null, given)).ok ? 'sound' : 'differs';
  } catch (error) {
    if (ProctorError.is(error) && error.code === 'store_altered') return 'refused';
    throw error;
  }
}

test('the bundle is sound, and the same run gives the same bytes', async () => {
  expect(await told(sound, key)).toBe('sound');
  expect(readFileSync(at('again.proctor')).equals(sound)).toBe(true);
  expect(new Set(parts.map(({ kind }) => kind))).toEqual(
    new Set(
      [
        'proctor/bundle/2',
        'snapshot',
        'run',
        'run_head',
        'execution',
        'result',
        'worker_session',
        'attempt',
        'evidence',
        'event',
        'outbox',
        'correction',
        'artifact',
        'body',
        'bundle',
      ].filter((kind) => parts.some((part) => part.kind === kind)),
    ),
  );
  expect(parts.length).toBeGreaterThan(40);
});

describe.each(Object.entries(DAMAGES))('%s', (name, damage) => {
  test('is found in the first, the last and a middle byte of every line and body, without a key', async () => {
    const random = seededRandom(seedOf('bundle', name));
    for (const { kind, offset, bytes } of parts) {
      const middle = offset + random.below(bytes.length);
      for (const place of new Set([offset, middle, offset + bytes.length - 1])) {
        const altered = damage(sound, place, 1 + random.below(254));
        if (altered.equals(sound)) continue; // the same byte again beside its like
        expect([kind, place, await told(altered)]).not.toEqual([kind, place, 'sound']);
      }
    }
  });
});

test.each(Object.entries(REWRITES))('%s is found, though the digest was made anew', async (_, rewrite) => {
  const seal = parts.at(-1)?.bytes ?? '';
  const lines = parts.slice(0, -1).map(({ bytes }) => bytes);
  expect(await told(resealed(lines, seal))).toBe('sound'); // the forger's tool is sound
  expect(await told(resealed(rewrite(lines), seal))).not.toBe('sound');
});

test.each(Object.entries(SEALS))('the statement: %s is found', async (_, form) => {
  const last = parts.at(-1);
  const [, seal] = JSON.parse(last?.bytes.toString() ?? '') as [string, Record<string, string>];
  expect(lineOf('bundle', seal)).toBe(last?.bytes.toString());
  expect(await told(Buffer.concat([sound.subarray(0, last?.offset), Buffer.from(form(seal))]))).not.toBe('sound');
});

test('files beside a bundle are no part of it', async () => {
  for (const beside of ['-wal', '-shm', '-journal']) writeFileSync(at(`altered.proctor${beside}`), 'x'.repeat(5_000));
  expect(await told(sound, key)).toBe('sound');
  for (const beside of ['-wal', '-shm', '-journal']) rmSync(at(`altered.proctor${beside}`));
});

test('a file of any size that is no bundle is refused without being read', async () => {
  writeFileSync(at('altered.proctor'), headLine(4));
  truncateSync(at('altered.proctor'), 2 ** 40);
  expect(await toldOf(at('altered.proctor'))).toBe('refused');
  expect(await told(Buffer.alloc(0))).toBe('no bundle');
  expect(await told(Buffer.from(headLine(4)))).toBe('refused');
});

describe('rows by the thousand', () => {
  const seal = () => parts.at(-1)?.bytes ?? '';
  /** The sound lines, with so many more behind the last of the kind. */
  const withMore = (kind: string, count: number, more: (row: Record<string, number>, index: number) => object) => {
    const lines = parts.slice(0, -1).map(({ bytes }) => bytes.toString('latin1'));
    const last = parts.findLastIndex((part) => part.kind === kind);
    const [, row] = JSON.parse(lines[last] ?? '') as [string, Record<string, number>];
    const added = Array.from({ length: count }, (_, index) => lineOf(kind, { ...row, ...more(row, index + 1) }));
    return [...lines.slice(0, last + 1), ...added, ...lines.slice(last + 1)].map((line) => Buffer.from(line, 'latin1'));
  };
  const found = async (lines: readonly Buffer[]) => {
    writeFileSync(at('many.proctor'), resealed(lines, seal()));
    return await verifyBundleFile(at('many.proctor'), null, null).catch((error: unknown) => String(error));
  };

  test.each(['execution', 'result', 'attempt', 'evidence'])(
    'the first %s beyond the run ends the reading',
    async (kind) => {
      for (const place of [4, 1_000_000]) {
        const lines = withMore(kind, 1, () => ({ ordinal: place }));
        expect([place, await found(lines)]).toEqual([
          place,
          expect.stringContaining(`it belongs to execution ${place}, and the run has 4`),
        ]);
      }
    },
  );

  test('the first event beyond the count of events ends the reading', async () => {
    const lines = withMore('event', 2, (row, index) => ({ seq: (row['seq'] ?? 0) + index }));
    expect(await found(lines)).toMatch(/it is event \d+, and the run has \d+/);
  });

  test('verification ends at ten thousand differences, however many rows there are', async () => {
    const next = (row: Record<string, number>, name: string, by: number) => (row[name] ?? 0) + by;
    const lines = withMore('event', 30_000, (row, index) => ({
      seq: next(row, 'seq', index),
      position: next(row, 'position', index),
    }));
    const more = lines.map((line) => {
      const [kind, head] = JSON.parse(line.toString().startsWith('["run_head"') ? line.toString() : '[]') as [
        string,
        Record<string, number>,
      ];
      return kind === undefined
        ? line
        : Buffer.from(lineOf(kind, { ...head, event_count: next(head, 'event_count', 30_000) }));
    });
    const verification = await found(more);
    expect(verification).toMatchObject({ ok: false, stopped: true, differences: 10_000 });
    expect(verification).toHaveProperty('found.length', 1_000);
    expect((await proctor(folder, ['verify', 'many.proctor'])).stdout).toContain('at least 10,000 places');
  });
});

describe('a bundle of format 1', () => {
  const fixture = (name: string) => gunzipSync(readFileSync(path.join(FIXTURES, name)));
  const altered = (edit: (db: DatabaseSync) => void) => {
    writeFileSync(at('old.proctor'), fixture('wilson.proctor.gz'));
    const db = new DatabaseSync(at('old.proctor'), { enableForeignKeyConstraints: false });
    edit(db);
    db.close();
    return at('old.proctor');
  };

  test('verifies, and says what it does not cover', async () => {
    for (const name of readdirSync(FIXTURES).filter((one) => one.endsWith('.proctor.gz'))) {
      writeFileSync(at('old.proctor'), fixture(name));
      expect([name, await verifyBundleFile(at('old.proctor'), null, null)]).toMatchObject([
        name,
        { ok: true, format: 1 },
      ]);
    }
    const { stdout } = await proctor(folder, ['verify', 'old.proctor']);
    expect(stdout).toMatch(/format 1 +spare bytes are not covered/);
  });

  test('a log or a journal beside it is not read', async () => {
    mkdirSync(at('log'));
    writeFileSync(at('log/a.db'), fixture('wilson.proctor.gz'));
    const db = new DatabaseSync(at('log/a.db'));
    db.exec("pragma journal_mode = wal; pragma wal_autocheckpoint = 0; update run set reason = 'altered'");
    copyFileSync(at('log/a.db'), at('log/b.db'));
    copyFileSync(at('log/a.db-wal'), at('log/b.db-wal'));
    db.close();
    expect(await toldOf(at('log/b.db'))).toBe('sound');
  });

  test.each([
    ['a body that is too large', "insert into artifact values ('00', zeroblob(40000000))"],
    ['a row that is too large', 'update run set reason = cast(zeroblob(30000000) as text)'],
    ['rows that are too large together', 'update evidence set body = cast(zeroblob(2000000) as text)'],
    [
      'a long definition',
      `create table t (${Array.from({ length: 1_500 }, (_, i) => `a_column_of_some_length_${i} text`).join(',')})`,
    ],
    ['a trigger', 'create trigger t after insert on run begin select 1; end'],
    ['a view in place of a table', 'alter table result rename to result_; create view result as select * from result_'],
  ])('%s is refused', async (_, sql) => {
    expect(await toldOf(altered((db) => db.exec(sql)))).toBe('refused');
  });

  test('ten thousand tables are refused before they are read', async () => {
    const file = altered((db) => {
      db.exec('begin');
      for (let table = 0; table < 10_000; table += 1) db.exec(`create table t${table} (a)`);
      db.exec('commit');
    });
    expect(await toldOf(file)).toBe('refused');
  });

  test('a text behind a signature is found', async () => {
    const file = altered((db) => db.prepare('update bundle set signature = ?, public_key = ?').run('AAAA!!!!', key));
    expect(await toldOf(file)).toBe('differs');
  });
});
