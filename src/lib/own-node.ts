import { mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

let linked: string | null = null;

/**
 * The PATH with this process' own Node found first: the same PATH where `node` leads to it already, else with a folder in front that holds
 * nothing but a link to it, so that no other program is found elsewhere than before.
 */
export function pathWithOwnNode(searched: string): string {
  const own = realpathSync(process.execPath);
  for (const entry of searched.split(path.delimiter)) {
    const found = entry === '' ? null : realPath(path.join(entry, 'node'));
    if (found === own) return searched;
    if (found !== null) break;
  }
  linked ??= linkTo(own);
  return [linked, searched].join(path.delimiter);
}

/** Made anew by each process under a name that nobody can foresee; goes away with the process. */
function linkTo(program: string): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'proctor-node-'));
  symlinkSync(program, path.join(folder, 'node'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function realPath(file: string): string | null {
  try {
    return realpathSync(file);
  } catch {
    return null; // nothing of that name in this entry
  }
}
