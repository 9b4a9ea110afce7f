import { readdirSync, readlinkSync, realpathSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { ProctorError } from '../../contract/problem.ts';

interface File {
  readonly path: string;
  readonly device: bigint;
  readonly inode: bigint;
}

/**
 * The files that a store has open: the database and, beside it, its write-ahead log and the log's index. An open file outlives its name:
 * SQLite writes on into one that was removed, renamed or replaced, and nobody will find there what it wrote.
 */
export class StoreFile {
  readonly #path: string;
  readonly #files: readonly File[];

  /** The store at the path as it was just opened; `:memory:` has no files. */
  constructor(path: string) {
    this.#path = path;
    const real = path === ':memory:' ? null : realPath(path);
    // The path itself may be a link, which somebody may point elsewhere; SQLite puts the others beside the file it leads to.
    this.#files = real === null ? [] : [path, `${real}-wal`, `${real}-shm`].flatMap((file) => look(file) ?? []);
  }

  /** Throws `store_lost` unless each path still leads to the open file. */
  confirm(run: string | null = null): void {
    for (const file of this.#files) {
      const found = look(file.path);
      if (found === null || found.inode !== file.inode || found.device !== file.device)
        throw lost(`${whatHappened(file, found)} while the store was in use`, run);
    }
  }

  /**
   * Throws `store_lost` unless somebody who opens the path now finds the run as this process left it: a file whose bytes were replaced in
   * place is still the same file.
   */
  confirmRun(runId: string, evidenceRoot: string | null): void {
    this.confirm(runId);
    if (this.#files.length < 3) return; // in memory, or opened without a log: nothing was written
    let found: unknown;
    try {
      using db = new DatabaseSync(this.#path, { readOnly: true, timeout: 1_000 });
      found = db.prepare('select evidence_root from run where run_id = ?').get(runId)?.['evidence_root'];
    } catch (error) {
      throw lost(`\`${this.#path}\` cannot be read any more`, runId, error);
    }
    if (found !== evidenceRoot) throw lost(`\`${this.#path}\` no longer holds run ${runId} as it ended`, runId);
  }
}

function lost(what: string, run: string | null, cause?: unknown): ProctorError {
  return new ProctorError(
    'store_lost',
    `${what}, so no verdict is given: its evidence is not kept. Put the store back if it was moved, then \`proctor resume ${run ?? 'RUN'}\`${run === null ? ' (`proctor runs` shows the run)' : ''}; otherwise restore a backup or run again`,
    { cause },
  );
}

function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    throw lost(`\`${path}\` was removed or renamed while it was opened`, null, error);
  }
}

function look(path: string): File | null {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found === undefined ? null : { path, device: found.dev, inode: found.ino };
}

function whatHappened(file: File, found: File | null): string {
  const moved = nameNow(file);
  const replaced = found === null ? '' : '; another file has taken its place';
  if (moved !== null) return `\`${file.path}\` was moved to \`${moved}\`${replaced}`;
  return found === null ? `\`${file.path}\` was removed` : `\`${file.path}\` was replaced by another file`;
}

/** Where the open file has its name now, as far as the system tells (Linux does). Looking opens nothing: to close it would end SQLite's locks. */
function nameNow({ path, device, inode }: File): string | null {
  try {
    for (const name of readdirSync('/proc/self/fd')) {
      const link = `/proc/self/fd/${name}`;
      const open = statSync(link, { bigint: true, throwIfNoEntry: false });
      if (open?.ino !== inode || open.dev !== device || open.nlink === 0n) continue;
      const now = readlinkSync(link);
      if (now !== path) return now;
    }
  } catch {
    // It only makes the message say more.
  }
  return null;
}
