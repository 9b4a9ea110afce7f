import { closeSync, fstatSync, openSync } from 'node:fs';
import { mkdir, open, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import type { ArtifactPlace } from '../contract/artifact.ts';
import { ProctorError } from '../contract/problem.ts';
import { digestBytes } from '../lib/canonical-json.ts';
import { randomText } from '../lib/id.ts';
import { digestOfFile, readRegular, sizeOfRegular } from '../lib/regular-file.ts';

const MOST_BYTES = 512 * 1024 * 1024; // what a text of JavaScript can hold, and artifacts are texts

/** A larger file is only held in memory once its digest is known to be right: it may be anything of any size. */
const UNSEEN_BYTES = 16 * 1024 * 1024;

/** Artifacts in a folder: `ab/cdef…`, written aside, flushed and renamed, so that a name never leads to half a body. */
export function openArtifactFolder(folder: string): ArtifactPlace {
  const pathOf = (digest: string) => path.join(folder, digest.slice(0, 2), digest.slice(2));
  const held = new HeldFolder(folder);
  return {
    location: folder,
    put: async (bytes) => {
      const digest = digestBytes(bytes);
      await held.make();
      await write(pathOf(digest), bytes, digest);
      return digest;
    },
    has: async (digest) => (await stat(pathOf(digest)).catch(() => null))?.isFile() ?? false,
    confirm: () => held.confirm(),
    [Symbol.dispose]: () => held[Symbol.dispose](),
    get: async (digest, recorded = null) => {
      if (!/^[0-9a-f]{64}$/.test(digest))
        throw new ProctorError('artifact_missing', `\`${digest}\` is not an artifact's digest`);
      return await read(pathOf(digest), digest, recorded).catch((error: Error) => {
        if (ProctorError.is(error)) throw error;
        throw new ProctorError(
          'artifact_missing',
          `artifact ${digest} in \`${folder}\` ${error.message}; restore the folder from a backup`,
          { cause: error },
        );
      });
    },
  };
}

/** The bytes of an artifact; throws `artifact_corrupt` for others, of which no more than a few MiB were held. */
async function read(file: string, digest: string, recorded: number | null): Promise<Buffer> {
  const size = await sizeOfRegular(file);
  const altered = (what: string) =>
    new ProctorError(
      'artifact_corrupt',
      `artifact ${digest} (\`${file}\`) was altered: ${what}; restore the folder from a backup`,
    );
  if (recorded !== null && size !== recorded) throw altered(`it has ${size} bytes, and ${recorded} were recorded`);
  const most = size > UNSEEN_BYTES ? MOST_BYTES : UNSEEN_BYTES;
  if (size > UNSEEN_BYTES && size <= MOST_BYTES) {
    const found = await digestOfFile(file);
    if (found !== digest) throw altered(`its ${size} bytes have the digest ${found}`);
  }
  const bytes = await readRegular(file, most);
  const found = digestBytes(bytes);
  if (found !== digest) throw altered(`its ${bytes.length} bytes have the digest ${found}`);
  return bytes;
}

/**
 * The folder that this process found or made, held open so that its inode is not given to another: one that was removed is not made anew,
 * because what was kept in it is lost.
 */
class HeldFolder implements Disposable {
  readonly #path: string;
  #descriptor: number | null = null;

  constructor(folder: string) {
    this.#path = folder;
    this.#hold();
  }

  /** Makes the folder unless it was there before. */
  async make(): Promise<void> {
    if (this.#descriptor !== null) return await this.confirm();
    await mkdir(this.#path, { recursive: true }).catch((error: NodeJS.ErrnoException) => {
      throw writeError(error, this.#path);
    });
    this.#hold();
  }

  async confirm(): Promise<void> {
    if (this.#descriptor === null) return; // nothing was put into it, or found there
    const held = fstatSync(this.#descriptor, { bigint: true });
    const found = await stat(this.#path, { bigint: true }).catch(() => null); // gone, or out of reach
    if (found?.ino === held.ino && found.dev === held.dev) return;
    const what = found === null ? 'was removed or renamed' : 'was replaced by another folder';
    throw new ProctorError(
      'store_lost',
      `the artifact folder \`${this.#path}\` ${what} while it was in use, so no verdict is given: its evidence is not kept. Put the folder back if it was moved, then \`proctor resume RUN\` (\`proctor runs\` shows the run); otherwise restore a backup or run again`,
    );
  }

  #hold(): void {
    try {
      this.#descriptor ??= openSync(this.#path, 'r');
    } catch {
      // Not there yet, or closed to this user, which what is read or put says in its way.
    }
  }

  [Symbol.dispose](): void {
    if (this.#descriptor !== null) closeSync(this.#descriptor);
    this.#descriptor = null;
  }
}

async function write(target: string, bytes: Uint8Array | string, digest: string): Promise<void> {
  const length = typeof bytes === 'string' ? Buffer.byteLength(bytes) : bytes.byteLength;
  const present = await stat(target).catch(() => null); // absent is the ordinary case
  if (present?.size === length && (await digestOfFile(target).catch(() => null)) === digest) return; // a damaged one is written anew
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

function writeError(error: NodeJS.ErrnoException, target: string): ProctorError {
  if (error.code === 'ENOSPC' || error.code === 'EDQUOT') {
    return new ProctorError('store_full', `the disk that holds \`${target}\` is full; free some room`, {
      cause: error,
    });
  }
  return new ProctorError(
    'store_failed',
    `artifact \`${target}\` could not be written (${error.code ?? error.message}); check the folder's permissions`,
    { cause: error },
  );
}
