import { closeSync, readSync } from 'node:fs';
import type { ArtifactStore } from '../../contract/artifact.ts';
import type { OpenBundle } from '../../contract/bundle.ts';
import { ProctorError } from '../../contract/problem.ts';
import { digestBytes } from '../../lib/canonical-json.ts';
import { openRegularSync } from '../../lib/regular-file.ts';
import { FORMAT_MARK } from './bundle-format.ts';
import { type BodyPlace, loadBundle, rewriteProblems } from './bundle-load.ts';
import { isSqliteBundle, openSqliteBundle, strayRows } from './bundle-read.ts';
import { storeError } from './connection.ts';
import { Keys } from './keys.ts';
import { runReaders } from './run-readers.ts';

/** True when a file that begins so is a bundle. */
export function isBundle(header: Buffer): boolean {
  return isLines(header) || isSqliteBundle(header);
}

function isLines(header: Buffer): boolean {
  return header.toString('latin1').startsWith(FORMAT_MARK);
}

/** Opens a bundle of any format; throws `store_altered` for one that Proctor did not make. */
export function openBundleFile(file: string): OpenBundle & Disposable {
  const handle = openRegularSync(file);
  let kept = false;
  try {
    const header = Buffer.alloc(100);
    readSync(handle, header, 0, header.length, 0);
    if (!isLines(header)) return openSqliteBundle(file);
    const opened = openLines(handle, file);
    kept = true;
    return opened;
  } catch (error) {
    throw storeError(error, file);
  } finally {
    if (!kept) closeSync(handle);
  }
}

function openLines(handle: number, file: string): OpenBundle & Disposable {
  const loaded = loadBundle(handle, file);
  const { connection, bodies, seal, file_digest } = loaded;
  const read = async <T>(query: () => T): Promise<T> => {
    try {
      return query();
    } catch (error) {
      throw storeError(error, file);
    }
  };
  return {
    format: 2,
    file_digest,
    store: runReaders(connection, new Keys(connection), read),
    artifacts: artifactsIn(handle, bodies, file),
    run_ids: connection.all<{ run_id: string }>('select run_id from run order by run_no').map((row) => row.run_id),
    seals: [seal],
    artifactNames: () => [...bodies.keys()].sort(),
    problems: async () => [...strayRows(connection), ...(await rewriteProblems(handle, loaded))],
    [Symbol.dispose]: () => {
      connection.db.close();
      closeSync(handle);
    },
  };
}

function artifactsIn(handle: number, bodies: ReadonlyMap<string, BodyPlace>, file: string): ArtifactStore {
  return {
    location: file,
    put: async () => {
      throw new ProctorError('illegal_transition', `\`${file}\` is a bundle and is only read`);
    },
    get: async (digest) => {
      const place = bodies.get(digest);
      if (place === undefined)
        throw new ProctorError('artifact_missing', `artifact ${digest} is missing in \`${file}\``);
      const body = Buffer.alloc(place.bytes);
      const size = readSync(handle, body, 0, place.bytes, place.offset);
      if (size === place.bytes && digestBytes(body) === digest) return body;
      throw new ProctorError('artifact_corrupt', `artifact ${digest} in \`${file}\` changed while it was read`);
    },
  };
}
