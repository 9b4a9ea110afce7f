import type { ArtifactStore } from '../contract/artifact.ts';
import type { PlanManifest } from '../contract/snapshot.ts';
import { canonicalJson } from '../lib/canonical-json.ts';

const CHUNK = 1000; // cases
const CHUNK_CHARACTERS = 4 * 1024 * 1024; // a chunk of large cases is closed early: a few are held at once

/** Writes the cases of a plan, a canonical JSON line each, as content-addressed chunks and their manifest. */
export class PlanWriter {
  readonly #artifacts: ArtifactStore;
  readonly #chunks: string[] = [];
  readonly #starts: number[] = [];
  #lines: string[] = [];
  #characters = 0;
  #cases = 0;

  constructor(artifacts: ArtifactStore) {
    this.#artifacts = artifacts;
  }

  /** Cases so far. */
  get cases(): number {
    return this.#cases;
  }

  async put(line: string): Promise<void> {
    this.#lines.push(line);
    this.#characters += line.length;
    this.#cases += 1;
    if (this.#lines.length === CHUNK || this.#characters >= CHUNK_CHARACTERS) await this.#close();
  }

  /** Writes what is left and the manifest; answers its digest. */
  async end(): Promise<string> {
    if (this.#lines.length > 0) await this.#close();
    const even = this.#starts.every((start, index) => start === index * CHUNK);
    const manifest: PlanManifest = {
      format: 'proctor/plan/1',
      cases: this.#cases,
      chunk_size: CHUNK,
      chunks: this.#chunks,
      ...(even ? {} : { starts: this.#starts }),
    };
    return await this.#artifacts.put(canonicalJson(manifest));
  }

  async #close(): Promise<void> {
    this.#starts.push(this.#cases - this.#lines.length);
    this.#chunks.push(await this.#artifacts.put(this.#lines.join('\n')));
    this.#lines = [];
    this.#characters = 0;
  }
}
