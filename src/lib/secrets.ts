/** How references in a text are looked up; throws when one is not set. */
export type Lookup = (kind: 'secret' | 'env', name: string) => string;

const REFERENCE = /\$\{(secret|env):([A-Za-z_][A-Za-z0-9_]*)\}/g;
const SHORTEST = 4; // a shorter secret would blacken ordinary text

/** Resolves `${secret:NAME}` and `${env:NAME}` at the last moment, remembers the secrets that were handed out, and redacts them. */
export class Secrets {
  readonly #lookup: Lookup;
  readonly #known = new Map<string, string>();

  constructor(lookup: Lookup) {
    this.#lookup = lookup;
  }

  /** The text with every reference replaced by its value. */
  resolve(text: string): string {
    return text.replace(REFERENCE, (_, kind: 'secret' | 'env', name: string) => {
      const value = this.#lookup(kind, name);
      if (kind === 'secret' && value.length >= SHORTEST) this.#known.set(value, `[secret ${name}]`);
      return value;
    });
  }

  /** The JSON value with every known secret replaced wherever it stands in a text; the same value when there is none. */
  redact<T>(value: T): T {
    return this.#known.size === 0 ? value : (this.#walk(value) as T);
  }

  #walk(value: unknown): unknown {
    if (typeof value === 'string') return this.#text(value);
    if (Array.isArray(value)) return value.map((item) => this.#walk(item));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [this.#text(key), this.#walk(member)]));
  }

  #text(text: string): string {
    let clean = text;
    for (const [secret, shown] of this.#known) if (clean.includes(secret)) clean = clean.replaceAll(secret, shown);
    return clean;
  }
}
