import { generateKeyPairSync } from 'node:crypto';
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { verifyBundleFile } from '../../src/app.ts';
import { ProctorError } from '../../src/contract/problem.ts';
import type { BundleVerification } from '../../src/engine/bundle.ts';
import { alterBundle } from '../support/bundle-edit.ts';
import { proctor, temporaryFolder } from '../support/cli.ts';
import { examine, writeExamination } from '../support/examined.ts';

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let root = '';
const at = (name: string) => path.join(folder.path, name);

beforeAll(async () => {
  folder = await temporaryFolder();
  const pair = generateKeyPairSync('ed25519');
  const other = generateKeyPairSync('ed25519');
  await writeFile(at('key.pem'), pair.privateKey.export({ type: 'pkcs8', format: 'pem' }));
  await writeFile(at('key.pub'), pair.publicKey.export({ type: 'spki', format: 'pem' }));
  await writeFile(at('other.pub'), other.publicKey.export({ type: 'spki', format: 'pem' }));
  const profile = { gate: { baseline: {} } };
  const first = await examine(folder.path, { cases: 30, wrong: [3], profile });
  await proctor(folder.path, ['bless', first.run_id]);
  await writeExamination(folder.path, { cases: 30, wrong: [4], repeats: 1, profile });
  // One answer large enough to stand in an artifact.
  await writeFile(
    at('agent.mjs'),
    "export const answer = ({ case: item }) => ({ text: item.case_id === 'c0004' ? 'no'.repeat(20_000) : 'yes' });\n",
  );
  const done = await proctor(folder.path, ['run', 'profile.json', '--json', '--quiet']);
  root = (JSON.parse(done.stdout) as { evidence_root: string }).evidence_root;
  const written = await proctor(folder.path, [
    'export',
    'last',
    '--format',
    'bundle',
    '--out',
    'run.proctor',
    '--sign',
    'key.pem',
  ]);
  expect(written, written.stderr).toMatchObject({ code: 0 });
  await mkdir(at('elsewhere'));
});
afterAll(async () => await folder[Symbol.asyncDispose]());

/** Verifies a bundle in a folder where nothing else is. */
async function verify(...more: string[]): Promise<{ code: number | null; found: BundleVerification }> {
  const done = await proctor(at('elsewhere'), ['verify', 'moved.proctor', '--json', ...more]);
  return { code: done.code, found: JSON.parse(done.stdout) as BundleVerification };
}

test('a bundle verifies on a machine without the store, its signature by whom it names', async () => {
  await copyFile(at('run.proctor'), at('elsewhere/moved.proctor'));
  expect(await verify('--key', '../key.pub', '--expect', root)).toMatchObject({
    code: 0,
    found: { ok: true, signature: 'known', evidence_root: root, checked: { executions: 30, attempts: 30 } },
  });
  expect(await verify()).toMatchObject({ code: 0, found: { ok: true, signature: 'self' } });
  const stranger = await verify('--key', '../other.pub');
  expect(stranger).toMatchObject({ code: 1, found: { ok: false } });
  expect(stranger.found.found.map(({ what }) => what)).toEqual(['signed by the key given']);
  const text = await proctor(at('elsewhere'), ['verify', 'moved.proctor']);
  expect(text.stdout).toContain('VERIFIED');
  expect(text.stdout).toContain('--key FILE checks whose');
  // Nothing but reading: the bundle is as it was.
  expect(await readFile(at('elsewhere/moved.proctor'))).toEqual(await readFile(at('run.proctor')));
});

/** Alterations of a bundle, each by what it does to the file. */
const ALTERATIONS: readonly (readonly [what: string, sql: string])[] = [
  [
    'an answer',
    'update evidence set body = replace(body, \'"text":"yes"\', \'"text":"Yes"\') where kind = \'envelope\' and ordinal = 7',
  ],
  [
    'a grade',
    "update evidence set body = replace(body, '\"failed\"', '\"passed\"') where kind = 'evaluator_result' and ordinal = 3",
  ],
  ['evidence taken out', "delete from evidence where ordinal = 5 and kind = 'evaluator_result'"],
  [
    'evidence put in',
    'insert into evidence select run_no, ordinal, attempt, 9, kind, body, artifact, hash from evidence where ordinal = 1 limit 1',
  ],
  ['a score', 'update result set aggregate = replace(aggregate, \'"score":0\', \'"score":1\') where ordinal = 3'],
  ['passed', 'update result set passed = 1 where ordinal = 3'],
  ['an execution taken out', 'delete from result where ordinal = 9'],
  ['a case', "update execution set case_id = 'c9999' where ordinal = 2"],
  ['a cluster', "update execution set cluster = 'x' where ordinal = 2"],
  ['an attempt’s instant', 'update attempt set started_at = started_at + 1 where ordinal = 4'],
  ['an attempt’s fault', "update attempt set fault = 'infrastructure' where ordinal = 4"],
  ['an event', "update event set type = 'run_started' where seq = 3"],
  ['an event taken out', 'delete from event where seq = 5'],
  ['the gate', "update run set gate_status = 'fail'"],
  ['the verdict', 'update run set verdict = replace(verdict, \'"passed":29\', \'"passed":30\')'],
  ['the evidence root', "update run set evidence_root = replace(evidence_root, substr(evidence_root, 1, 4), '0000')"],
  ['the profile', 'update snapshot set body = replace(body, \'"alpha":0.05\', \'"alpha":0.01\')'],
  ['the outbox', "update outbox set body = replace(body, 'pass', 'fail')"],
  [
    'an artifact',
    "update artifact set body = cast(cast(body as text) || ' ' as blob) where digest = (select min(digest) from artifact)",
  ],
  ['an artifact taken out', 'delete from artifact where digest = (select max(digest) from artifact)'],
  ['an artifact put in', "insert into artifact values ('00', cast('x' as blob))"],
  ['the statement', `update bundle set statement = replace(statement, '"gate_status":"pass"', '"gate_status":"fail"')`],
  ['the signature', "update bundle set signature = 'AAAA' || substr(signature, 5)"],
  ['the key', 'update bundle set public_key = null'],
];

test.each(ALTERATIONS)('altered: %s', async (what, sql) => {
  const file = at('elsewhere/altered.proctor');
  await alterBundle(at('run.proctor'), file, sql, /signature|public_key/.test(sql));
  const document = await verified(file);
  // A file that is no bundle any more is refused whole; anything else is named with its place.
  if (typeof document === 'string') return expect(document, what).toMatch(/not a bundle that Proctor made: .*/);
  expect(document.ok, what).toBe(false);
  expect(document.found.length).toBeGreaterThan(0);
  for (const { where, row } of document.found) expect(`${where} ${row}`.trim()).not.toBe('');
});

/** What verification finds, or why the file is refused whole. */
async function verified(file: string): Promise<BundleVerification | string> {
  return await verifyBundleFile(file, null, null).catch((error: unknown) => {
    if (ProctorError.is(error) && error.code === 'store_altered') return error.message;
    throw error;
  });
}

test('a key that is none is not the bundle’s fault', async () => {
  await copyFile(at('run.proctor'), at('elsewhere/moved.proctor'));
  for (const key of ['../key.pem', '../profile.json']) {
    const done = await proctor(at('elsewhere'), ['verify', 'moved.proctor', '--key', key]);
    if (key.endsWith('json')) expect(done).toMatchObject({ code: 2 });
    else expect(done.code).toBe(0); // a private key tells the public one
  }
  const folderOut = await proctor(folder.path, ['export', 'last', '--format', 'bundle', '--out', 'elsewhere']);
  expect(folderOut).toMatchObject({ code: 2 });
  expect(folderOut.stderr).toContain('is a folder, not a regular file');
  expect((await proctor(folder.path, ['verify', 'nofile.proctor'])).stderr).toContain('is not a bundle, and no run');
});

test('a run that differs from its evidence is not exported; a key that is none is told', async () => {
  const text = await proctor(folder.path, [
    'export',
    'last',
    '--format',
    'bundle',
    '--out',
    'x.proctor',
    '--sign',
    'key.pub',
  ]);
  expect(text).toMatchObject({ code: 2 });
  expect(text.stderr).toContain('Ed25519 private key');
  await using other = await temporaryFolder();
  const run = await examine(other.path, { cases: 3 });
  const db = new DatabaseSync(path.join(other.path, '.proctor/proctor.db'));
  db.exec('drop trigger run_final; drop trigger run_frozen');
  db.exec("update run set reason = 'altered'");
  db.close();
  const refused = await proctor(other.path, ['export', run.run_id, '--format', 'bundle', '--out', 'x.proctor']);
  expect(refused).toMatchObject({ code: 3 });
  expect(refused.stderr).toContain(`proctor verify ${run.run_id}`);
});
