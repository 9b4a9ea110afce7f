import { access, constants, mkdir } from 'node:fs/promises';
import { userInfo } from 'node:os';
import path from 'node:path';
import { openPlugins } from './adapters/plugins.ts';
import { openWebhookSender } from './adapters/webhooks/sender.ts';
import { openArtifactFolder } from './artifacts/folder.ts';
import { findPlaces, lookupIn, type Places } from './config.ts';
import type { ArtifactPlace } from './contract/artifact.ts';
import type { Plugins } from './contract/ports.ts';
import { ProctorError } from './contract/problem.ts';
import type { RunRow } from './contract/store.ts';
import type { WebhookSender } from './contract/webhook.ts';
import { Secrets } from './core/redaction/secrets.ts';
import { type BundleVerification, sealRun, verifyBundle } from './engine/bundle.ts';
import { type Clock, systemClock } from './lib/clock.ts';
import { FileRefused, onlyFileAt, openRegular } from './lib/regular-file.ts';
import { isBundle, openBundleFile } from './store/sqlite/bundle-open.ts';
import { writeBundleFile } from './store/sqlite/bundle-write.ts';
import { openSqliteStore, type SqliteStore } from './store/sqlite/store.ts';

/** Proctor, wired: store, artifacts, plug-ins, clock, and who is acting. */
export interface App extends AsyncDisposable {
  readonly places: Places;
  /** The store stands where nothing can be written: it is read as it stands in its file. */
  readonly read_only: boolean;
  readonly store: SqliteStore;
  readonly artifacts: ArtifactPlace;
  readonly plugins: Plugins;
  readonly clock: Clock;
  /** Sends webhooks, with this process' secrets. */
  readonly webhooks: WebhookSender;
  /** The secrets of this process: one for all of its parts. */
  readonly secrets: Secrets;
  /** The acting principal: on a local store the operating system's user. */
  readonly principal: string;
}

/** Where Proctor runs: the folder to find the project from, and the environment. */
export interface AppOptions {
  readonly cwd: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The secrets of this process, where something else knows of them already. */
  readonly secrets?: Secrets;
  /** Refuse a store that does not exist yet, for commands that would find nothing in a new one. */
  readonly existing?: boolean;
}

/** The composition root: opens the store and the artifact folder of the project and builds the registries. */
export async function createApp(options: AppOptions): Promise<App> {
  const places = findPlaces(options.cwd, options.environment);
  if (options.existing) await present(places.store);
  await onlyFileAt(places.store).catch((error: Error) => {
    throw new ProctorError('store_failed', `the store \`${places.store}\` ${error.message}; PROCTOR_DB names another`, {
      cause: error,
    });
  });
  // Arguments, answers and whole outputs are kept in it: nobody else on the machine is to read them.
  const read_only = await onlyReadable(places.store);
  if (!read_only) await makeFolder(path.dirname(places.store));
  const store = openSqliteStore({ path: places.store, read_only });
  const artifacts = openArtifactFolder(places.artifacts);
  const secrets = secretsOf(options);
  const webhooks = openWebhookSender({ clock: systemClock, resolve: (text) => secrets.resolve(text) });
  return {
    read_only,
    places,
    store,
    artifacts,
    plugins: createPlugins({ ...options, secrets }),
    clock: systemClock,
    webhooks,
    secrets,
    principal: `human:${userName()}`,
    [Symbol.asyncDispose]: async () => {
      await webhooks.close();
      artifacts[Symbol.dispose]();
      await store.close();
    },
  };
}

/** True when there is a store, and its file or its folder cannot be written by this process. */
async function onlyReadable(store: string): Promise<boolean> {
  const may = (file: string, how: number) =>
    access(file, how).then(
      () => true,
      () => false,
    );
  if (!(await may(store, constants.F_OK))) return false;
  return !((await may(store, constants.W_OK)) && (await may(path.dirname(store), constants.W_OK)));
}

async function makeFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 }).catch(async (error: NodeJS.ErrnoException) => {
    // Node tells ENOENT of a recursive mkdir where the folder above cannot be written; asking that one tells why.
    const code = await access(path.dirname(folder), constants.W_OK).then(
      () => error.code,
      (above: NodeJS.ErrnoException) => above.code,
    );
    if (error.code === 'ENOSPC')
      throw new ProctorError('store_full', `the disk that holds \`${folder}\` is full; free some room`, {
        cause: error,
      });
    throw new ProctorError(
      'store_failed',
      `the folder \`${folder}\` for the store cannot be made (${code ?? error.message}); run in a folder that can be written, or let PROCTOR_DB name another`,
      { cause: error },
    );
  });
}

async function present(store: string): Promise<void> {
  await access(store).catch((error: unknown) => {
    throw new ProctorError(
      'not_found',
      `there is no store at \`${store}\` yet; \`proctor run PROFILE\` makes it, \`PROCTOR_DB\` names another`,
      { cause: error },
    );
  });
}

/** The user's name; a user id without an entry in the system's list (as containers run with) stands for itself. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid-${process.getuid?.() ?? 'unknown'}`;
  }
}

/** Verifies an ended run and writes it with its evidence into one file, signed when a key (Ed25519, PEM) is given; answers its SHA-256. */
export async function exportBundle(app: App, run: RunRow, target: string, key: string | null): Promise<string> {
  await onlyFileAt(target).catch((error: Error) => {
    throw new ProctorError('invalid_input', `\`${target}\` ${error.message}; name a file to write`, { cause: error });
  });
  const { seal, artifacts } = await sealRun(app, run, key);
  async function* bodies() {
    for (const digest of artifacts) yield { digest, body: await app.artifacts.get(digest) };
  }
  return await writeBundleFile(target, { store: app.store, run, seal, artifacts: bodies() });
}

const NO_FILE = ['ENOENT', 'ENOTDIR', 'EISDIR', 'ENAMETOOLONG'];

/** True when the path leads to a file that is a bundle by its header. */
export async function isBundleFile(file: string): Promise<boolean> {
  const opened = await openRegular(file).catch((error: unknown) => {
    if (error instanceof FileRefused && NO_FILE.includes(error.code)) return null; // the name of a run
    throw new ProctorError('invalid_input', `\`${file}\` ${(error as Error).message}`, { cause: error });
  });
  if (opened === null) return false;
  await using handle = opened;
  const { buffer, bytesRead } = await handle
    .read(Buffer.alloc(100), 0, 100, 0)
    .catch(() => ({ buffer: null, bytesRead: 0 }));
  return buffer !== null && isBundle(buffer.subarray(0, bytesRead));
}

/** Verifies a bundle with nothing but the file; `key` is the Ed25519 public key (PEM) that must have signed it. */
export async function verifyBundleFile(
  file: string,
  expect: string | null,
  key: string | null,
): Promise<BundleVerification> {
  using bundle = openBundleFile(file);
  return await verifyBundle(bundle, expect, key);
}

/** The plug-ins alone, for work that needs no store (`check`, `schema`). */
export function createPlugins(options: Pick<AppOptions, 'environment' | 'secrets'>): Plugins {
  return openPlugins(secretsOf(options), options.environment);
}

function secretsOf({ environment, secrets }: Pick<AppOptions, 'environment' | 'secrets'>): Secrets {
  return secrets ?? new Secrets(lookupIn(environment));
}
