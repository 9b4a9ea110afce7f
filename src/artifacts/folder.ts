import { mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import type { ArtifactStore } from '../contract/artifact.ts';
import { ProctorError } from '../contract/problem.ts';
import { digestBytes } from '../lib/canonical-json.ts';
import { randomText } from '../lib/id.ts';

/** Artifacts in a folder: `ab/cdef…`, written aside, flushed and renamed, so that a name never leads to half a body. */
export function openArtifactFolder(folder: string): ArtifactStore {
  const pathOf = (digest: string) => path.join(folder, digest.slice(0, 2), digest.slice(2));
  return {
    location: folder,
    put: async (bytes) => {
      const digest = digestBytes(bytes);
      await write(pathOf(digest), bytes, digest);
      return digest;
    },
    get: async (digest) => {
      if (!/^[0-9a-f]{64}$/.test(digest))
        throw new ProctorError('artifact_missing', `\`${digest}\` is not an artifact's digest`);
      const bytes = await readFile(pathOf(digest)).catch((error: NodeJS.ErrnoException) => {
        throw new ProctorError(
          'artifact_missing',
          `artifact ${digest} cannot be read from \`${folder}\` (${error.code ?? error.message}); restore the folder from a backup`,
          { cause: error },
        );
      });
      const found = digestBytes(bytes);
      if (found !== digest) {
        throw new ProctorError(
          'artifact_corrupt',
          `artifact ${digest} in \`${folder}\` was altered: its bytes have the digest ${found}`,
        );
      }
      return bytes;
    },
  };
}

async function write(target: string, bytes: Uint8Array | string, digest: string): Promise<void> {
  const length = typeof bytes === 'string' ? Buffer.byteLength(bytes) : bytes.byteLength;
  const present = await stat(target).catch(() => null); // absent is the ordinary case
  if (present?.size === length && (await digestOf(target)) === digest) return; // a damaged one is written anew
  const aside = `${target}.${randomText(8)}`;
  try {
    await mkdir(path.dirname(target), { recursive: true });
    const file = await open(aside, 'wx');
    try {
      await file.writeFile(bytes);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(aside, target);
    const parent = await open(path.dirname(target), 'r'); // the name must be as durable as the bytes: a row will refer to it
    try {
      await parent.sync();
    } finally {
      await parent.close();
    }
  } catch (error) {
    await rm(aside, { force: true }).catch(() => undefined); // the first error is the one that matters
    throw writeError(error as NodeJS.ErrnoException, target);
  }
}

async function digestOf(file: string): Promise<string | null> {
  const bytes = await readFile(file).catch(() => null); // what cannot be read is not trusted
  return bytes === null ? null : digestBytes(bytes);
}

function writeError(error: NodeJS.ErrnoException, target: string): ProctorError {
  if (error.code === 'ENOSPC' || error.code === 'EDQUOT') {
    return new ProctorError(
      'store_full',
      `the disk that holds \`${target}\` is full; free some room, then \`proctor resume\` the run: nothing is lost`,
      { cause: error },
    );
  }
  return new ProctorError(
    'store_failed',
    `artifact \`${target}\` could not be written (${error.code ?? error.message}); check the folder's permissions`,
    { cause: error },
  );
}
