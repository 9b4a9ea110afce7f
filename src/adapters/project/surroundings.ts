import { lstatSync, realpathSync } from 'node:fs';
import path from 'node:path';
import type { Folder, Surroundings } from '../../core/policy/facts.ts';
import type { Clock } from '../../lib/clock.ts';
import { Lru } from '../../lib/lru.ts';
import { readSql } from '../sql/index.ts';

const FOLDER_MS = 1_000;
const MOST_FOLDERS = 1_000;

/** What policies of the project have looked up for them. */
export function openSurroundings(base_dir: string, clock: Pick<Clock, 'monotonic'>): Surroundings {
  const folders = new Lru<string, { at: number; folder: Folder | null }>(MOST_FOLDERS);
  return {
    realPath,
    sql: readSql,
    // A policy may name hundreds of folders, and they are the operator's: each is followed once a second, where what a call names is followed every time.
    folder: (name) => {
      const now = clock.monotonic();
      const known = folders.get(name, () => ({ at: Number.NEGATIVE_INFINITY, folder: null }));
      if (now - known.at > FOLDER_MS) {
        known.at = now;
        known.folder = folderAt(path.resolve(base_dir, name));
      }
      return known.folder;
    },
  };
}

function folderAt(absolute: string): Folder | null {
  const real = realPath(absolute);
  return real === null ? null : { path: absolute, real };
}

/**
 * Where a path leads: links are followed as far as the path exists, the rest is taken as written. Null when it cannot be looked at, and for a
 * file with several names (hard links): it may be the file of another folder.
 */
function realPath(written: string): string | null {
  let existing = written;
  const rest: string[] = [];
  for (;;) {
    try {
      const real = realpathSync.native(existing);
      const found = rest.length > 0 ? undefined : lstatSync(real, { throwIfNoEntry: false });
      if (found?.isFile() && found.nlink > 1) return null;
      return path.join(real, ...rest);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code !== 'ENOENT' || existing === '/') return null; // a loop, no right to look: it cannot be told
      // A link that leads nowhere yet would be followed when it is written to.
      if (lstatSync(existing, { throwIfNoEntry: false })?.isSymbolicLink()) return null;
      rest.unshift(path.basename(existing));
      existing = path.dirname(existing);
    }
  }
}
