import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { readRegularSync } from '../../lib/regular-file.ts';
import { unavailable } from './described.ts';

const MOST_BYTES = 1024 * 1024;

const issuerSchema = z.object({ client: z.looseObject({}).optional(), tokens: z.looseObject({}).optional() });

/** What a source wants a sign-in for, as it was last told. */
const wantedSchema = z.object({ scope: z.string().nullable(), resource_metadata_url: z.string().nullable() });
export type WantedSignIn = z.output<typeof wantedSchema>;

const fileSchema = z.object({
  version: z.literal(1),
  issuers: z.record(z.string(), issuerSchema),
  /** Whose credentials were kept last: those a request is made with. */
  last: z.string().nullable(),
  /** The authorization server that the client of the project file was used at. */
  registered_at: z.string().nullable(),
  wanted: wantedSchema.nullable(),
});
type Credentials = z.output<typeof fileSchema>;

/** The credentials of one source in a file that only its owner may read, by the authorization server that issued them. */
export class CredentialFile {
  readonly #name: string;
  readonly #dir: string;
  readonly #path: string;

  constructor({ name, private_dir }: { readonly name: string; readonly private_dir: string }) {
    this.#name = name;
    this.#dir = private_dir;
    this.#path = path.join(private_dir, `oauth-${name}.json`);
  }

  /** The credentials of an issuer; of the last one where none is named. */
  read(issuer: string | undefined): z.output<typeof issuerSchema> | undefined {
    const { issuers, last } = this.#load();
    const key = issuer ?? last;
    return key !== null && Object.hasOwn(issuers, key) ? issuers[key] : undefined;
  }

  get registeredAt(): string | undefined {
    return this.#load().registered_at ?? undefined;
  }

  get wanted(): WantedSignIn | null {
    return this.#load().wanted;
  }

  /** Keeps credentials; `registered` when the client is the one of the project file. */
  keep(issuer: string | undefined, change: { client?: object; tokens?: object }, registered = false): void {
    const all = this.#load();
    const key = issuer ?? all.last ?? '';
    const signedIn = change.tokens !== undefined;
    this.#store({
      ...all,
      issuers: { ...all.issuers, [key]: { ...all.issuers[key], ...(change as object) } },
      last: signedIn ? key : all.last,
      registered_at: signedIn && registered ? key : all.registered_at,
      wanted: signedIn ? null : all.wanted,
    });
  }

  want(wanted: WantedSignIn): void {
    this.#store({ ...this.#load(), wanted });
  }

  forget(what: 'all' | 'client' | 'tokens'): void {
    const all = this.#load();
    const left = Object.entries(all.issuers).map(([issuer, { client, tokens }]) => [
      issuer,
      {
        ...(what === 'tokens' && client !== undefined ? { client } : {}),
        ...(what === 'client' && tokens !== undefined ? { tokens } : {}),
      },
    ]);
    this.#store({ ...all, issuers: Object.fromEntries(left) as Credentials['issuers'] });
  }

  #load(): Credentials {
    let text: string;
    try {
      text = readRegularSync(this.#path, MOST_BYTES).toString('utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT')
        return { version: 1, issuers: {}, last: null, registered_at: null, wanted: null };
      throw this.#unreadable(error);
    }
    try {
      return fileSchema.parse(JSON.parse(text));
    } catch (error) {
      throw this.#unreadable(error);
    }
  }

  #unreadable(error: unknown) {
    const why = error instanceof z.ZodError ? 'it has other members than it should' : String(error);
    return unavailable(
      this.#name,
      `has a login that cannot be read (${why}); remove ${this.#path} and sign in anew with \`proctor tool login ${this.#name}\``,
      error,
    );
  }

  /** Whole or not at all: another process may read it, or this one may die. */
  #store(credentials: Credentials): void {
    mkdirSync(this.#dir, { recursive: true, mode: 0o700 });
    const fresh = `${this.#path}.${randomBytes(6).toString('hex')}`;
    writeFileSync(fresh, JSON.stringify(credentials), { mode: 0o600, flag: 'wx' });
    chmodSync(fresh, 0o600);
    renameSync(fresh, this.#path);
  }
}
