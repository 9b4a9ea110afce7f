import { createHash } from 'node:crypto';
import { closeSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { canonicalJson } from '../../src/lib/canonical-json.ts';
import { columnsOf, headLine, lineOf, rowLines } from '../../src/store/sqlite/bundle-format.ts';
import { loadBundle } from '../../src/store/sqlite/bundle-load.ts';
import { handRows } from '../../src/store/sqlite/bundle-rows.ts';
import { Keys } from '../../src/store/sqlite/keys.ts';
import { SCHEMA_VERSION } from '../../src/store/sqlite/migrate.ts';
import { runReaders } from '../../src/store/sqlite/run-readers.ts';

/** A bundle cut into its lines; the bytes of an artifact follow its line. */
export interface BundlePart {
  readonly kind: string;
  readonly bytes: Buffer;
  /** Where it begins in the file. */
  readonly offset: number;
}

/** The lines and bodies of a bundle of format 2, in order. */
export function partsOf(bundle: Buffer): BundlePart[] {
  const parts: BundlePart[] = [];
  for (let offset = 0; offset < bundle.length; ) {
    const end = bundle.indexOf(10, offset) + 1;
    const line = bundle.subarray(offset, end);
    const [kind, members] = JSON.parse(line.toString()) as [string, { bytes?: number }];
    parts.push({ kind, bytes: line, offset });
    offset = end;
    if (kind !== 'artifact') continue;
    const size = (members.bytes ?? 0) + 1;
    parts.push({ kind: 'body', bytes: bundle.subarray(offset, offset + size), offset });
    offset += size;
  }
  return parts;
}

/** Joins lines to a bundle whose statement names what now stands before it, as a forger without a key would; the signature is left out. */
export function resealed(lines: readonly (Buffer | string)[], seal: Buffer | string): Buffer {
  const before = Buffer.concat(lines.map((line) => Buffer.from(line)));
  const [, { statement }] = JSON.parse(seal.toString()) as [string, { statement: string }];
  const said = { ...(JSON.parse(statement) as object), file: createHash('sha256').update(before).digest('hex') };
  const last = lineOf('bundle', { statement: canonicalJson(said), signature: null, public_key: null });
  return Buffer.concat([before, Buffer.from(last)]);
}

/**
 * Writes a copy of a bundle whose rows were altered by SQL, as a forger would who has Proctor's own writer: canonical lines, artifacts (table
 * `artifact`) and statement (table `bundle`), the digest of the file made anew. The signature stays only where `keepSignature` says.
 */
export async function alterBundle(
  from: string,
  to: string,
  change: string | ((db: DatabaseSync) => void),
  keepSignature = false,
): Promise<void> {
  const file = openSync(from, 'r');
  const { connection, bodies, seal } = loadBundle(file, from);
  closeSync(file);
  const bytes = readFileSync(from);
  connection.db.exec('pragma ignore_check_constraints = on');
  connection.run('insert into bundle values (?, ?, ?)', seal.statement, seal.signature, seal.public_key);
  for (const [digest, place] of bodies)
    connection.run(
      'insert into artifact values (?, ?)',
      digest,
      bytes.subarray(place.offset, place.offset + place.bytes),
    );
  if (typeof change === 'string') connection.db.exec(change);
  else change(connection.db);
  const store = runReaders(connection, new Keys(connection), async (query) => query());
  const id = connection.get<{ run_id: string }>('select run_id from run order by run_no limit 1')?.run_id ?? '';
  const run = await store.run(id);
  if (run === null) throw new Error('the bundle has no run');
  const rowLine = rowLines(columnsOf(SCHEMA_VERSION));
  const lines: Buffer[] = [Buffer.from(headLine(SCHEMA_VERSION))];
  await handRows({ store, run }, (table, row) => lines.push(Buffer.from(rowLine(table, row))));
  for (const { digest, body } of connection.all<{ digest: string; body: Uint8Array }>(
    'select * from artifact order by digest',
  ))
    lines.push(Buffer.from(lineOf('artifact', { bytes: body.length, digest })), Buffer.from(body), Buffer.from('\n'));
  const sealed = connection.get<Record<string, unknown>>('select statement, signature, public_key from bundle') ?? {};
  connection.db.close();
  const line = lineOf('bundle', { ...sealed });
  writeFileSync(to, keepSignature ? Buffer.concat([...lines, Buffer.from(line)]) : resealed(lines, line));
}
