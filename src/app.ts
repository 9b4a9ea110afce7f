import { access, mkdir } from 'node:fs/promises';
import { userInfo } from 'node:os';
import path from 'node:path';
import { openPlugins } from './adapters/plugins.ts';
import { openArtifactFolder } from './artifacts/folder.ts';
import { findPlaces, lookupIn, type Places } from './config.ts';
import type { ArtifactStore } from './contract/artifact.ts';
import type { Plugins } from './contract/ports.ts';
import { ProctorError } from './contract/problem.ts';
import { type Clock, systemClock } from './lib/clock.ts';
import { Secrets } from './lib/secrets.ts';
import { openSqliteStore, type SqliteStore } from './store/sqlite/store.ts';

/** Proctor, wired: store, artifacts, plug-ins, clock, and who is acting. */
export interface App extends AsyncDisposable {
  readonly places: Places;
  readonly store: SqliteStore;
  readonly artifacts: ArtifactStore;
  readonly plugins: Plugins;
  readonly clock: Clock;
  /** The acting principal: on a local store the operating system's user. */
  readonly principal: string;
}

/** Where Proctor runs: the folder to find the project from, and the environment. */
export interface AppOptions {
  readonly cwd: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Refuse a store that does not exist yet, for commands that would find nothing in a new one. */
  readonly existing?: boolean;
}

/** The composition root: opens the store and the artifact folder of the project and builds the registries. */
export async function createApp(options: AppOptions): Promise<App> {
  const places = findPlaces(options.cwd, options.environment);
  if (options.existing) await present(places.store);
  await mkdir(path.dirname(places.store), { recursive: true });
  const store = openSqliteStore({ path: places.store });
  return {
    places,
    store,
    artifacts: openArtifactFolder(places.artifacts),
    plugins: createPlugins(options),
    clock: systemClock,
    principal: `human:${userName()}`,
    [Symbol.asyncDispose]: () => store.close(),
  };
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

/** The plug-ins alone, for work that needs no store (`check`, `schema`). */
export function createPlugins({ environment }: Pick<AppOptions, 'environment'>): Plugins {
  return openPlugins(new Secrets(lookupIn(environment)), environment);
}
