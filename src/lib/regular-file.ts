import { createHash } from 'node:crypto';
import { closeSync, constants, fstatSync, lstatSync, openSync, readSync, type Stats, statSync } from 'node:fs';
import { type FileHandle, lstat, open, stat } from 'node:fs/promises';

/** A file that is not read, and why: its message goes on from the file's name ("is a named pipe, …"). */
export class FileRefused extends Error {
  /** The system's error code, or `NOT_REGULAR`, `TOO_LARGE`, or `DANGLING` for a link that leads nowhere. */
  readonly code: string;

  constructor(code: string, message: string, cause?: unknown) {
    super(message, cause === undefined ? {} : { cause });
    this.name = 'FileRefused';
    this.code = code;
  }
}

// A pipe whose other end nobody has open would hold up an ordinary open for ever.
const FLAGS = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY;
const CHUNK_BYTES = 64 * 1024;

/** Opens a regular file to read; throws `FileRefused` at once for a pipe, device, socket, folder or a link that leads nowhere. */
export async function openRegular(file: string): Promise<FileHandle> {
  let handle: FileHandle | null = null;
  try {
    onlyRegular(await stat(file));
    handle = await open(file, FLAGS);
    onlyRegular(await handle.stat());
    return handle;
  } catch (error) {
    await handle?.close();
    throw refusalOf(error, await lstat(file).catch(() => null));
  }
}

/** The bytes of a regular file that has at most so many; throws `FileRefused`. */
export async function readRegular(file: string, mostBytes: number): Promise<Buffer> {
  await using handle = await openRegular(file);
  try {
    const { size } = await handle.stat();
    if (size > mostBytes) throw tooLarge(size, mostBytes);
    const parts: Buffer[] = [];
    for (let total = 0; ; ) {
      // One byte more than it had at first: whoever appends meanwhile is noticed.
      const wanted = Math.max(CHUNK_BYTES, size - total + 1);
      const { buffer, bytesRead } = await handle.read(Buffer.allocUnsafe(wanted), 0, wanted, null);
      if (bytesRead === 0) return parts.length === 1 ? (parts[0] ?? Buffer.alloc(0)) : Buffer.concat(parts);
      total += bytesRead;
      if (total > mostBytes) throw tooLarge(total, mostBytes);
      parts.push(buffer.subarray(0, bytesRead));
    }
  } catch (error) {
    throw refusalOf(error, null);
  }
}

/** How many bytes a regular file has; throws `FileRefused`. */
export async function sizeOfRegular(file: string): Promise<number> {
  await using handle = await openRegular(file);
  return (await handle.stat()).size;
}

/** The SHA-256 of a regular file in lower hex; its bytes are never held together. Throws `FileRefused`. */
export async function digestOfFile(file: string): Promise<string> {
  await using handle = await openRegular(file);
  const hash = createHash('sha256');
  for await (const chunk of handle.createReadStream({ autoClose: false })) hash.update(chunk as Buffer);
  return hash.digest('hex');
}

/** As `openRegular`, for callers that cannot wait; answers a file descriptor. */
export function openRegularSync(file: string): number {
  let opened: number | null = null;
  try {
    onlyRegular(statSync(file));
    opened = openSync(file, FLAGS);
    onlyRegular(fstatSync(opened));
    return opened;
  } catch (error) {
    if (opened !== null) closeSync(opened);
    throw refusalOf(error, lstatOr(file));
  }
}

/** As `readRegular`, for callers that cannot wait. */
export function readRegularSync(file: string, mostBytes: number): Buffer {
  const opened = openRegularSync(file);
  try {
    const parts: Buffer[] = [];
    for (let total = 0; ; ) {
      const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
      const read = readSync(opened, buffer);
      if (read === 0) return Buffer.concat(parts);
      total += read;
      if (total > mostBytes) throw tooLarge(total, mostBytes);
      parts.push(buffer.subarray(0, read));
    }
  } catch (error) {
    throw refusalOf(error, null);
  } finally {
    closeSync(opened);
  }
}

/** Throws `FileRefused` where something stands at the path that is no regular file; nothing there is right. */
export async function onlyFileAt(file: string): Promise<void> {
  const found = await stat(file).catch((error: unknown) => {
    if (refusalOf(error, null).code === 'ENOENT') return null;
    throw refusalOf(error, null);
  });
  if (found !== null) onlyRegular(found);
}

function onlyRegular(found: Stats): void {
  if (found.isFile()) return;
  const kind = found.isDirectory()
    ? 'a folder'
    : found.isFIFO()
      ? 'a named pipe'
      : found.isSocket()
        ? 'a socket'
        : 'a device';
  throw new FileRefused(found.isDirectory() ? 'EISDIR' : 'NOT_REGULAR', `is ${kind}, not a regular file`);
}

function lstatOr(file: string): Stats | null {
  try {
    return lstatSync(file);
  } catch {
    return null; // nothing of that name at all
  }
}

function tooLarge(size: number, most: number): FileRefused {
  return new FileRefused('TOO_LARGE', `has ${size} bytes; the most is ${most}`);
}

function refusalOf(error: unknown, itself: Stats | null): FileRefused {
  if (error instanceof FileRefused) return error;
  const { code = 'unknown', message } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT' && itself?.isSymbolicLink())
    return new FileRefused('DANGLING', 'is a link that leads nowhere', error);
  if (code === 'ENOENT') return new FileRefused(code, 'does not exist', error);
  if (code === 'EACCES') return new FileRefused(code, 'cannot be read by this user (EACCES)', error);
  return new FileRefused(code, `cannot be read (${code === 'unknown' ? message : code})`, error);
}
