/** Keeps the last bytes of a stream, at most `limit`, and counts those it let go. */
export class TailBuffer {
  readonly #limit: number;
  #chunks: Buffer[] = [];
  #kept = 0;
  dropped = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  push(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#kept += chunk.length;
    // Cut at twice the limit, so that the copying costs a constant time a byte.
    if (this.#kept > 2 * this.#limit) this.#cut();
  }

  text(): string {
    this.#cut();
    return Buffer.concat(this.#chunks).toString('utf8');
  }

  #cut(): void {
    const whole = Buffer.concat(this.#chunks);
    const tail = whole.subarray(Math.max(0, whole.length - this.#limit));
    this.dropped += whole.length - tail.length;
    this.#chunks = [Buffer.from(tail)];
    this.#kept = tail.length;
  }
}
