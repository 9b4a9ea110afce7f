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

const DAMAGES: Readonly<Record<string, (bytes: Buffer, place: number, byte: number) => Buffer>> = {
  'a bit flipped': (bytes, place, byte) => {
    const copy = Buffer.from(bytes);
    copy[place] = (copy[place] ?? 0) ^ (1 << (byte % 8));
    return copy;
  },
  'a byte put in': (bytes, place, byte) =>
    Buffer.concat([bytes.subarray(0, place), Buffer.of(byte), bytes.subarray(place)]),
  'a byte taken out': (bytes, place) => Buffer.concat([bytes.subarray(0, place), bytes.subarray(place + 1)]),
  'cut off': (bytes, place) => bytes.subarray(0, place),
};

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

/** Rewrites of lines by somebody who makes the digest anew. */
const REWRITES: Readonly<Record<string, (lines: Buffer[]) => (Buffer | string)[]>> = {
  'a space after a comma': (lines) => replaced(lines, 'execution', (text) => text.replace(',', ', ')),
  'a line end of two bytes': (lines) => replaced(lines, 'execution', (text) => text.replace('\n', '\r\n')),
  'an empty line': (lines) => [...lines.slice(0, 3), '\n', ...lines.slice(3)],
  'a byte order mark': (lines) => ['\ufeff', ...lines],
  'a letter written as an escape': (lines) =>
    replaced(lines, 'execution', (text) => text.replace('c0001', '\\u0063\u00300001'.replace('\u0030', ''))),
  'a number in another form': (lines) =>
    replaced(lines, 'execution', (text) => text.replace('"repeat":1', '"repeat":1.0')),
  'an exponent': (lines) => replaced(lines, 'execution', (text) => text.replace('"repeat":1', '"repeat":1e0')),
  'a key twice': (lines) => replaced(lines, 'execution', (text) => text.replace('"repeat":1', '"repeat":1,"repeat":1')),
  'keys in another order': (lines) => replaced(lines, 'run_head', reordered),
  'a column that is not ours': (lines) =>
    replaced(lines, 'execution', (text) => text.replace('"repeat"', '"other":1,"repeat"')),
  'a column left out': (lines) => replaced(lines, 'execution', (text) => text.replace('"cluster":null,', '')),
  'a list for a value': (lines) =>
    replaced(lines, 'execution', (text) => text.replace('"cluster":null', '"cluster":[]')),
  'true for a value': (lines) =>
    replaced(lines, 'execution', (text) => text.replace('"cluster":null', '"cluster":true')),
  'a row twice': (lines) => [...lines.slice(0, 5), lines[4] ?? '', ...lines.slice(5)],
  'two rows exchanged': (lines) => {
    const events = lines
      .map((line, index) => (line.toString().startsWith('["event"') ? index : -1))
      .filter((index) => index >= 0);
    const [first = 0, second = 0] = events;
    return lines.map((line, index) =>
      index === first ? (lines[second] ?? line) : index === second ? (lines[first] ?? line) : line,
    );
  },
  'a table that a bundle does not have': (lines) => [...lines, lineOf('blessing', { profile_id: 'known' })],
  'a migration': (lines) => [...lines, lineOf('migration', { version: 9, name: 'x', sha256: 'x', applied_at: 1 })],
  'a table that nobody has': (lines) => [...lines, lineOf('evil; drop table run', { x: 1 })],
  'a counter': (lines) => [...lines, lineOf('run_stat', { run_no: 1, kind: 'cost_micro_usd', n: 777 })],
  'the last instant': (lines) => [...lines, lineOf('meta', { key: 'other', value: 1 })],
  'a transition': (lines) => [
    ...lines,
    lineOf('state_transition', { machine: 'run', from_state: 'failed', to_state: 'completed' }),
  ],
  'a host': (lines) => replaced(lines, 'worker_session', (text) => text.replace('"host":""', '"host":"elsewhere"')),
  'rows of no run': (lines) => [...lines, lineOf('run_head', { run_no: 7, event_count: 0, event_hash: '' })],
  'a second run': (lines) =>
    lines.flatMap((line) =>
      line.toString().startsWith('["run",')
        ? [
            line,
            line
              .toString()
              .replace('"run_no":1', '"run_no":2')
              .replace(/"run_id":"run_/, '"run_id":"run_x'),
          ]
        : [line],
    ),
  'an artifact that nothing refers to': (lines) => [
    ...lines,
    lineOf('artifact', { bytes: 1, digest: '2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881' }),
    'x\n',
  ],
  'an artifact of a size that it does not have': (lines) => [
    ...lines,
    lineOf('artifact', { bytes: 2 ** 40, digest: 'x' }),
    'x\n',
  ],
  'an artifact of no size': (lines) => [...lines, lineOf('artifact', { bytes: -1, digest: 'x' }), 'x\n'],
  'another schema': (lines) => [headLine(3), ...lines.slice(1)],
  'a schema to come': (lines) => [headLine(999), ...lines.slice(1)],
  'a first line with more': (lines) => [lineOf('proctor/bundle/2', { schema: 4, more: 1 }), ...lines.slice(1)],
  'a list in depth': (lines) => [...lines, `["event",{"body":${'['.repeat(5_000_000)}`, '\n'],
  'a line without an end': (lines) => [...lines, `["event",{"body":"${'x'.repeat(30_000_000)}"}]\n`],
  'many members': (lines) => [
    ...lines,
    `["event",{${Array.from({ length: 1_000 }, (_, i) => `"k${i}":1`).join(',')}}]\n`,
  ],
};

function replaced(lines: readonly Buffer[], kind: string, edit: (text: string) => string): (Buffer | string)[] {
  const index = lines.findIndex((line) => line.toString().startsWith(`["${kind}",`));
  expect(index).toBeGreaterThan(0);
  const before = lines[index]?.toString() ?? '';
  expect(edit(before)).not.toBe(before);
  return lines.map((line, place) => (place === index ? edit(before) : line));
}

function reordered(text: string): string {
  const [kind, members] = JSON.parse(text) as [string, Record<string, unknown>];
  return `${JSON.stringify([kind, Object.fromEntries(Object.entries(members).reverse())])}\n`;
}

test.each(Object.entries(REWRITES))('%s is found, though the digest was made anew', async (_, rewrite) => {
  const seal = parts.at(-1)?.bytes ?? '';
  const lines = parts.slice(0, -1).map(({ bytes }) => bytes);
  expect(await told(resealed(lines, seal))).toBe('sound'); // the forger's tool is sound
  expect(await told(resealed(rewrite(lines), seal))).not.toBe('sound');
});

/** Forms of the last line; the signature is over the statement, and the line is no part of what its digest covers. */
const SEALS: Readonly<Record<string, (seal: Record<string, string>) => string>> = {
  'text behind the signature': (seal) => lineOf('bundle', { ...seal, signature: `${seal['signature']}!!!!` }),
  'a space in the signature': (seal) => lineOf('bundle', { ...seal, signature: ` ${seal['signature']}` }),
  'the signature for URLs': (seal) =>
    lineOf('bundle', {
      ...seal,
      signature: `${seal['signature']?.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')}`,
    }),
  'the signature without its padding': (seal) =>
    lineOf('bundle', { ...seal, signature: seal['signature']?.replace(/=+$/, '') }),
  'the signature with other spare bits': (seal) => {
    const text = seal['signature'] ?? '';
    const last = text.at(-3) ?? 'A';
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
    return lineOf('bundle', { ...seal, signature: `${text.slice(0, -3)}${alphabet[alphabet.indexOf(last) ^ 1]}==` });
  },
  'no signature': (seal) => lineOf('bundle', { ...seal, signature: null }),
  'no key': (seal) => lineOf('bundle', { ...seal, public_key: null }),
  'a line behind the key': (seal) => lineOf('bundle', { ...seal, public_key: `${seal['public_key']}\n` }),
  'a comment before the key': (seal) => lineOf('bundle', { ...seal, public_key: `hello\n${seal['public_key']}` }),
  'a statement in another form': (seal) => lineOf('bundle', { ...seal, statement: ` ${seal['statement']}` }),
  'a statement with more': (seal) =>
    lineOf('bundle', { ...seal, statement: seal['statement']?.replace('{', '{"a":1,') }),
  'a member more': (seal) => lineOf('bundle', { ...seal, more: 1 }),
  'no statement': () => '',
  'two statements': (seal) => `${lineOf('bundle', seal)}${lineOf('bundle', seal)}`,
  'bytes behind it': (seal) => `${lineOf('bundle', seal)}x`,
  'a newline behind it': (seal) => `${lineOf('bundle', seal)}\n`,
  'a SQLite file behind it': (seal) => `${lineOf('bundle', seal)}SQLite format 3\0${'\0'.repeat(4080)}`,
  'no newline': (seal) => lineOf('bundle', seal).trimEnd(),
};

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
