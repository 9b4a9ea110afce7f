import { createHash, type Hash } from 'node:crypto';
import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import type { BundleSeal } from '../../contract/bundle.ts';
import { ProctorError } from '../../contract/problem.ts';
import { randomText } from '../../lib/id.ts';
import {
  columnsOf,
  headLine,
  lineOf,
  MOST_BODY_BYTES,
  MOST_LINE_BYTES,
  MOST_PAGE_BYTES,
  PageBytes,
  rowLines,
} from './bundle-format.ts';
import { handRows, type RowSource } from './bundle-rows.ts';
import { storeError } from './connection.ts';
import { SCHEMA_VERSION } from './migrate.ts';

/** What a bundle is written from. */
export interface BundleSource extends RowSource {
  /** Every artifact that the run's evidence refers to, in the order of the digests. */
  readonly artifacts: AsyncIterable<{ readonly digest: string; readonly body: Uint8Array }>;
  /** The statement over a file whose bytes so far have this SHA-256, signed where it is to be. */
  seal(file: string): BundleSeal;
}

/** Writes the bundle of a run: one file, made aside and renamed, so that the name never leads to half of it. Answers its SHA-256. */
export async function writeBundleFile(target: string, source: BundleSource): Promise<string> {
  const aside = `${target}.${randomText(8)}`;
  try {
    const file = openSync(aside, 'wx', 0o666);
    let digest: string;
    try {
      digest = await writeParts(file, source);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(aside, target);
    return digest;
  } catch (error) {
    rmSync(aside, { force: true });
    const { code } = error as NodeJS.ErrnoException;
    if (code !== undefined && /^E[A-Z]+$/.test(code))
      throw new ProctorError('invalid_input', `\`${target}\` cannot be written (${code})`, { cause: error });
    throw storeError(error, target);
  }
}

async function writeParts(file: number, source: BundleSource): Promise<string> {
  const out = new HashedFile(file);
  const rowLine = rowLines(columnsOf(SCHEMA_VERSION));
  out.text(headLine(SCHEMA_VERSION));
  const pages = new PageBytes();
  await handRows(source, (table, row) => {
    const line = rowLine(table, row);
    refuse(`a page of \`${table}\``, pages.add(table, row, line.length), MOST_PAGE_BYTES);
    out.text(line);
  });
  for await (const { digest, body } of source.artifacts) {
    refuse(`artifact ${digest}`, body.byteLength, MOST_BODY_BYTES);
    out.text(lineOf('artifact', { bytes: body.byteLength, digest }));
    out.bytes(body);
    out.text('\n');
  }
  out.text(lineOf('bundle', { ...source.seal(out.digest()) }));
  return out.digest();
}

function refuse(what: string, bytes: number, most: number): void {
  if (bytes > most)
    throw new ProctorError(
      'invalid_input',
      `${what} has ${bytes} bytes, and a bundle carries at most ${most} in one piece: the run cannot be bundled; other formats can be exported`,
    );
}

const FLUSH_BYTES = 1024 * 1024;

/** Writes to a file by the megabyte and knows the digest of what was written. */
class HashedFile {
  readonly #file: number;
  readonly #hash: Hash = createHash('sha256');
  #held: string[] = [];
  #size = 0;

  constructor(file: number) {
    this.#file = file;
  }

  text(line: string): void {
    const size = Buffer.byteLength(line);
    refuse('a row', size, MOST_LINE_BYTES);
    this.#held.push(line);
    this.#size += size;
    if (this.#size >= FLUSH_BYTES) this.#flush();
  }

  bytes(body: Uint8Array): void {
    this.#flush();
    this.#write(body);
  }

  digest(): string {
    this.#flush();
    return this.#hash.copy().digest('hex');
  }

  #flush(): void {
    if (this.#held.length > 0) this.#write(Buffer.from(this.#held.join('')));
    this.#held = [];
    this.#size = 0;
  }

  #write(bytes: Uint8Array): void {
    this.#hash.update(bytes);
    for (let done = 0; done < bytes.byteLength; ) done += writeSync(this.#file, bytes, done);
  }
}
