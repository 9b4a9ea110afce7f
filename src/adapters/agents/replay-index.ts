import { createWriteStream } from 'node:fs';
import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { diagnostic, ProctorError } from '../../contract/problem.ts';
import { type Line, LineSplitter } from '../../lib/line-splitter.ts';
import { FileRefused, openRegular } from '../../lib/regular-file.ts';

/** Names the case and the repeat of a recorded line, or says what is wrong with it. A null repeat: the next of its case. */
export type ReplayKey = { readonly case_id: string; readonly repeat: number | null } | { readonly problem: string };

/** An indexed file of recordings: its bodies stay on disk. */
export interface ReplayIndex {
  /** Recordings of a case, for messages. */
  repeatsOf(caseId: string): readonly number[];
  /** The line recorded for a case and repeat, parsed; undefined when there is none. */
  read(caseId: string, repeat: number): Promise<unknown>;
  close(): Promise<void>;
}

const MAX_LINE_BYTES = 64 * 1024 * 1024;
const MAX_INFLATED_BYTES = 16 * 1024 * 1024 * 1024;

/** Reads a `.jsonl` or `.jsonl.gz` file once and keeps where each recording stands; a compressed one is inflated to a temporary file. */
export async function openReplayIndex(
  path: string,
  shownPath: string,
  keyOf: (row: unknown) => ReplayKey,
): Promise<ReplayIndex> {
  const file = await openPlain(path, shownPath);
  try {
    const places = await indexed(file, shownPath, keyOf);
    return {
      repeatsOf: (caseId) => [...(places.get(caseId)?.keys() ?? [])],
      async read(caseId, repeat) {
        const place = places.get(caseId)?.get(repeat);
        return place === undefined ? undefined : JSON.parse((await readAt(file, place)).toString('utf8'));
      },
      close: () => file.close(),
    };
  } catch (error) {
    await file.close();
    throw error;
  }
}

interface Place {
  readonly offset: number;
  readonly length: number;
}

async function indexed(
  file: FileHandle,
  shownPath: string,
  keyOf: (row: unknown) => ReplayKey,
): Promise<Map<string, Map<number, Place>>> {
  const places = new Map<string, Map<number, Place>>();
  for await (const { number, offset, bytes } of lines(file)) {
    if (bytes === null) throw unusable(shownPath, number, `it is longer than ${MAX_LINE_BYTES} bytes`);
    const text = bytes.toString('utf8');
    if (text.trim() === '') continue;
    const key = keyOfLine(text, keyOf);
    if ('problem' in key) throw unusable(shownPath, number, key.problem);
    const ofCase = places.get(key.case_id) ?? new Map<number, Place>();
    const repeat = key.repeat ?? ofCase.size + 1;
    if (ofCase.has(repeat)) throw unusable(shownPath, number, `case \`${key.case_id}\` has repeat ${repeat} twice`);
    ofCase.set(repeat, { offset, length: bytes.length });
    places.set(key.case_id, ofCase);
  }
  return places;
}

function keyOfLine(text: string, keyOf: (row: unknown) => ReplayKey): ReplayKey {
  try {
    return keyOf(JSON.parse(text));
  } catch (error) {
    return { problem: `it is not JSON: ${(error as Error).message}` };
  }
}

async function* lines(file: FileHandle): AsyncGenerator<Line> {
  const splitter = new LineSplitter(MAX_LINE_BYTES, { skip_empty: true });
  const stream = file.createReadStream({ autoClose: false, start: 0, highWaterMark: 1024 * 1024 });
  for await (const chunk of stream as AsyncIterable<Buffer>) yield* splitter.push(chunk);
  const last = splitter.end();
  if (last) yield last;
}

async function readAt(file: FileHandle, place: Place): Promise<Buffer> {
  const buffer = Buffer.alloc(place.length);
  let done = 0;
  while (done < place.length) {
    const { bytesRead } = await file.read(buffer, done, place.length - done, place.offset + done);
    if (bytesRead === 0)
      throw new Error(`the recording at byte ${place.offset} is cut off: the file changed while it was replayed`);
    done += bytesRead;
  }
  return buffer;
}

async function openPlain(path: string, shownPath: string): Promise<FileHandle> {
  try {
    return await (path.endsWith('.gz') ? inflated(path) : openRegular(path));
  } catch (error) {
    const why = error instanceof FileRefused ? error.message : `cannot be read: ${(error as Error).message}`;
    const message = `the recording \`${shownPath}\` ${why}`;
    throw new ProctorError('invalid_profile', message, {
      cause: error,
      diagnostics: [diagnostic(message, { field: 'agent.replay.path' })],
    });
  }
}

/** Inflates to a temporary file that is unlinked while open, so that nothing of it outlives the process. */
async function inflated(path: string): Promise<FileHandle> {
  await using packed = await openRegular(path);
  const folder = await mkdtemp(join(tmpdir(), 'proctor-replay-'));
  try {
    const plain = join(folder, 'recording.jsonl');
    await pipeline(
      packed.createReadStream({ autoClose: false }),
      createGunzip(),
      bounded(),
      createWriteStream(plain, { mode: 0o600 }),
    );
    return await open(plain, 'r');
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function bounded(): Transform {
  let bytes = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      if (bytes > MAX_INFLATED_BYTES) done(new Error(`it inflates to more than ${MAX_INFLATED_BYTES} bytes`));
      else done(null, chunk);
    },
  });
}

function unusable(shownPath: string, line: number, problem: string): ProctorError {
  return new ProctorError(
    'invalid_input',
    `line ${line} of the recording \`${shownPath}\` cannot be used: ${problem}`,
    { diagnostics: [diagnostic(problem, { file: shownPath, line })] },
  );
}
