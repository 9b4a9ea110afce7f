import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { delimiter, join, resolve } from 'node:path';
import { pathWithOwnNode } from '../../lib/own-node.ts';

/** A set of environment variables. */
export type Environment = Readonly<Record<string, string | undefined>>;

const PASSED_ON = ['PATH', 'HOME', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR'];
const DEFAULT_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/**
 * The environment of a user's command: an allow-list of Proctor's own, so that no key leaks by accident, and what the profile adds. `node` leads
 * to the Node that runs Proctor, unless the profile sets a PATH of its own: an older one on the system would not read TypeScript.
 */
export function commandEnvironment(
  own: Environment,
  added: Readonly<Record<string, string>> = {},
): Record<string, string> {
  const result: Record<string, string> = { PATH: DEFAULT_PATH };
  for (const name of PASSED_ON) {
    const value = own[name];
    if (value !== undefined) result[name] = value;
  }
  if (added['PATH'] === undefined) result['PATH'] = pathWithOwnNode(result['PATH'] ?? DEFAULT_PATH);
  return { ...result, ...added };
}

/** Absolute path of a program: with a slash relative to the folder, else found in `PATH`; null when there is none that may be executed. */
export async function findProgram(program: string, folder: string, environment: Environment): Promise<string | null> {
  const candidates = program.includes('/')
    ? [resolve(folder, program)]
    : (environment['PATH'] ?? DEFAULT_PATH).split(delimiter).map((entry) => resolve(folder, join(entry, program)));
  for (const candidate of candidates) if (await isExecutable(candidate)) return candidate;
  return null;
}

/** True for a regular file that this process may execute. */
export async function isExecutable(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile();
  } catch {
    return false; // absent, or no right to look
  }
}
