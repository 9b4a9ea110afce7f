import { ProctorError } from '../../contract/problem.ts';
import type { Redaction } from '../../contract/redaction.ts';
import {
  type Lookup,
  type ReferenceKind,
  replaceReferences,
  secretReference,
  secretsReferredTo,
} from '../../contract/secret-reference.ts';
import { type NamedSecret, Redactor } from './redactor.ts';
import { isDistinct, LEAST_CHARACTERS, LEAST_DIFFERENT } from './search.ts';

/** Plain settings come from the environment too; a variable that is named like these holds a credential all the same. */
const CREDENTIAL = /KEY|TOKEN|SECRET|PASS|PWD|CREDENTIAL|AUTH/i;

/**
 * The secrets of a process: resolves references at the last moment, remembers every secret that was handed out, and takes them all out of
 * whatever is kept or shown. There is one for a process, so that no part of it holds a value that another does not know.
 */
export class Secrets implements Redaction {
  readonly #lookup: Lookup;
  readonly #known = new Map<string, string>();
  readonly #weak = new Set<string>();
  #redactor: Redactor | null = null;
  #warn: ((text: string) => void) | null = null;
  #warnings: string[] = [];

  constructor(lookup: Lookup) {
    this.#lookup = lookup;
  }

  /** The text with every reference replaced by its value. */
  resolve(text: string): string {
    return replaceReferences(text, (kind, name) => {
      const value = this.#lookup(kind, name);
      if (kind === 'secret' || CREDENTIAL.test(name)) this.#remember(kind, name, value);
      return value;
    });
  }

  /** Looks up the secrets that a document refers to, as far as they are set, so that they are known before they are used. */
  learn(document: unknown): void {
    for (const name of secretsReferredTo(JSON.stringify(document))) {
      try {
        this.resolve(secretReference(name));
      } catch (error) {
        if (!ProctorError.is(error)) throw error; // told where it is used
      }
    }
  }

  /** Hears of every secret that cannot be redacted, also of those before. */
  warned(warn: (text: string) => void): void {
    this.#warn = warn;
    for (const text of this.#warnings.splice(0)) warn(text);
  }

  text(text: string): string {
    return this.#known.size === 0 ? text : this.#built().text(text);
  }

  json<T>(value: T): T {
    return this.#known.size === 0 ? value : this.#built().json(value);
  }

  with(value: string, marker: string): Redaction {
    return new Redactor([...this.#all(), { value, marker }]);
  }

  #remember(kind: ReferenceKind, name: string, value: string): void {
    if (this.#known.has(value)) return;
    if (isDistinct(value)) {
      this.#known.set(value, `[${kind} ${name}]`);
      this.#redactor = null;
      return;
    }
    if (kind === 'env' || this.#weak.has(name)) return;
    this.#weak.add(name);
    const text = `the secret \`${name}\` cannot be told from ordinary text, so it is not redacted: it needs at least ${LEAST_CHARACTERS} characters, ${LEAST_DIFFERENT} of them different`;
    if (this.#warn === null) this.#warnings.push(text);
    else this.#warn(text);
  }

  #built(): Redactor {
    this.#redactor ??= new Redactor(this.#all());
    return this.#redactor;
  }

  #all(): NamedSecret[] {
    return [...this.#known].map(([value, marker]) => ({ value, marker }));
  }
}
