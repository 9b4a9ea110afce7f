import type { CallFacts } from './facts.ts';
import { type Truth, truth } from './truth.ts';

/**
 * Whether a path leads into a folder, as written once `.` and `..` are gone and as the file system follows it: where the two differ, and
 * where the path may mean several things (relative, with control characters, backslashes or percent escapes), it cannot be told.
 */
export function under(name: string): (value: unknown, call: CallFacts) => Truth {
  return (value, call) => {
    const path = typeof value === 'string' ? argumentPath(value) : null;
    const folder = call.folder(name);
    if (path === null || folder === null) return 'unknown';
    const real = call.realPath(path);
    if (real === null) return 'unknown';
    const written = inside(path, folder.path);
    return written === inside(real, folder.real) ? truth(written) : 'unknown';
  };
}

/** The path of the argument looked at last: hundreds of rules ask for the same one, one after the other. */
let lastPath: { readonly text: string; readonly path: string | null } = { text: '', path: null };

function argumentPath(text: string): string | null {
  if (lastPath.text !== text) lastPath = { text, path: plainPath(text) };
  return lastPath.path;
}

/** The absolute path without `.`, `..` and double slashes; null when it may be read in another way. */
export function plainPath(path: string): string | null {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what is looked for
  if (!path.startsWith('/') || /[\u0000-\u001f\u007f\\]|%[0-9a-f]{2}/i.test(path)) return null;
  const parts: string[] = [];
  for (const part of path.split('/')) {
    if (part === '' || part === '.') continue;
    if (part === '..') parts.pop();
    else parts.push(part);
  }
  return `/${parts.join('/')}`;
}

/** A folder as policies name it, in its plain form: an absolute path, or `.` or `./folder`, which is one of the project. */
export function plainFolder(name: string): string | null {
  if (name !== '.' && !name.startsWith('./')) return plainPath(name);
  if (name.split('/').includes('..')) return null; // what is outside of the project is named by its absolute path
  const plain = plainPath(name.slice(1) || '/');
  if (plain === null) return null;
  return plain === '/' ? '.' : `.${plain}`;
}

/** Whether a plain path is a folder or in it. */
export function inside(path: string, folder: string): boolean {
  if (folder === '/' || path === folder) return true;
  return path.startsWith(folder) && path[folder.length] === '/';
}
