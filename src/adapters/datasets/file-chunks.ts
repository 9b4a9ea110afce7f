import type { FileHandle } from 'node:fs/promises';
import { pipeline, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import type { DatasetOptions } from '../../contract/case.ts';
import { type Diagnostic, diagnostic, ProctorError } from '../../contract/problem.ts';
import { openRegular } from '../../lib/regular-file.ts';

/** Bytes of a dataset file, or the reason why the rest of it cannot be had. */
export type FileChunk =
  | { readonly type: 'bytes'; readonly bytes: Buffer }
  | { readonly type: 'problem'; readonly problem: Diagnostic };

const CHUNK_BYTES = 256 * 1024;

/**
 * Streams a dataset file, unpacked when its name ends in `.gz`, and closes it when the reader stops early. Throws
 * `not_found` or `invalid_dataset` when it cannot be opened, and the signal's reason when that aborts.
 */
export async function* fileChunks(options: DatasetOptions): AsyncGenerator<FileChunk> {
  const { signal } = options;
  signal.throwIfAborted();
  await using file = await openFile(options);
  // What is appended while it is read is not read: a file that grows for ever would never end.
  const { size } = await file.stat();
  const source =
    size === 0
      ? Readable.from([])
      : file.createReadStream({ highWaterMark: CHUNK_BYTES, autoClose: false, start: 0, end: size - 1 });
  const packed = options.path.toLowerCase().endsWith('.gz');
  // pipeline() destroys both ends when one fails or the loop below is left; its error is what the loop throws.
  const stream = packed ? pipeline(source, createGunzip({ chunkSize: CHUNK_BYTES }), () => undefined) : source;
  const onAbort = () => void stream.destroy(new Error('aborted'));
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    for await (const bytes of stream) {
      signal.throwIfAborted();
      yield { type: 'bytes', bytes };
    }
  } catch (error) {
    signal.throwIfAborted();
    yield { type: 'problem', problem: unpackProblem(error, options) };
  } finally {
    signal.removeEventListener('abort', onAbort);
    source.destroy();
  }
}

async function openFile(options: DatasetOptions): Promise<FileHandle> {
  return await openRegular(options.path).catch((error: unknown) => {
    throw openError(error, options.shown_path);
  });
}

function openError(error: unknown, shown: string): ProctorError {
  const code = systemCode(error);
  if (code === 'ENOENT' || code === 'ENOTDIR') {
    const hint = 'check the path; it is relative to the profile, or on the command line to the current folder';
    return unusable('not_found', shown, `there is no dataset \`${shown}\``, hint, error);
  }
  if (code === 'EISDIR')
    return unusable('invalid_dataset', shown, `the dataset \`${shown}\` is a folder`, 'name the file inside it', error);
  if (code === 'NOT_REGULAR' || code === 'DANGLING')
    return unusable(
      'invalid_dataset',
      shown,
      `the dataset \`${shown}\` ${(error as Error).message}`,
      'name a file',
      error,
    );
  const hint = code === 'EACCES' ? 'give this user the right to read it' : 'check that it is a readable file';
  return unusable('invalid_dataset', shown, `the dataset \`${shown}\` cannot be read (${code})`, hint, error);
}

function unusable(code: 'not_found' | 'invalid_dataset', file: string, message: string, hint: string, cause?: unknown) {
  return new ProctorError(code, `${message}: ${hint}`, { cause, diagnostics: [diagnostic(message, { file, hint })] });
}

function unpackProblem(error: unknown, options: DatasetOptions): Diagnostic {
  const code = systemCode(error);
  if (!code.startsWith('Z_')) throw openError(error, options.shown_path);
  const detail = code === 'Z_BUF_ERROR' ? 'the gzip data is cut off' : `the gzip data is damaged (${code})`;
  const what = error instanceof Error ? error.message : String(error);
  return diagnostic(`${detail}: ${what}`, {
    file: options.shown_path,
    hint: 'copy or download the file again; `gzip -t` checks it',
  });
}

function systemCode(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
}
