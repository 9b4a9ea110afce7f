import { createHash, timingSafeEqual } from 'node:crypto';
import type { Caller } from '../gateway/ports.ts';

/** Finds whom a bearer token belongs to; null for a token of nobody. */
export type TokenBook = (token: string) => Caller | null;

/** The bearer token of a request, or null. */
export function bearerToken(header: string | null | undefined): string | null {
  const token = /^Bearer +([A-Za-z0-9\-._~+/]+=*)$/i.exec(header ?? '')?.[1];
  return token ?? null;
}

/** A book of tokens: compared by their digests, so that neither time nor memory tells about them. */
export class Tokens {
  readonly #callers: { readonly digest: Buffer; readonly caller: () => Caller | null }[] = [];

  /** Adds a token; answers how to take it back. */
  add(token: string, caller: () => Caller | null): () => void {
    const entry = { digest: digestOf(token), caller };
    this.#callers.push(entry);
    return () => {
      const at = this.#callers.indexOf(entry);
      if (at >= 0) this.#callers.splice(at, 1);
    };
  }

  readonly find: TokenBook = (token) => {
    const digest = digestOf(token);
    let found: Caller | null = null;
    for (const entry of this.#callers) if (timingSafeEqual(entry.digest, digest)) found = entry.caller();
    return found;
  };
}

function digestOf(token: string): Buffer {
  return createHash('sha256').update(`proctor/token/1\n${token}`).digest();
}
