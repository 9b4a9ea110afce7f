import { existsSync } from 'node:fs';
import path from 'node:path';
import { ProctorError } from './contract/problem.ts';
import type { Lookup } from './contract/secret-reference.ts';
import { readRegularSync } from './lib/regular-file.ts';

/** Where this project's store and artifacts are. */
export interface Places {
  readonly project_dir: string;
  readonly store: string;
  readonly artifacts: string;
}

const MOST_SECRET_BYTES = 1024 * 1024;

type Environment = Readonly<Record<string, string | undefined>>;

/** The project folder is the nearest one upwards with `.proctor/` or `proctor.yaml`, else the current one; PROCTOR_DB and PROCTOR_ARTIFACTS override. */
export function findPlaces(cwd: string, environment: Environment): Places {
  const project_dir = projectDir(cwd);
  const store = environment['PROCTOR_DB'] ?? path.join(project_dir, '.proctor', 'proctor.db');
  if (/^postgres(ql)?:/.test(store)) {
    throw new ProctorError(
      'unsupported',
      'PROCTOR_DB names a PostgreSQL store, which arrives in a later version; unset it to use the SQLite file of the project',
    );
  }
  return {
    project_dir,
    store: path.resolve(cwd, store),
    artifacts: path.resolve(
      cwd,
      environment['PROCTOR_ARTIFACTS'] ?? path.join(path.dirname(path.resolve(cwd, store)), 'artifacts'),
    ),
  };
}

/** Looks references up: `${secret:NAME}` in the environment, else the file that NAME_FILE names; `${env:NAME}` in the environment. */
export function lookupIn(environment: Environment): Lookup {
  return (kind, name) => {
    const value = environment[name];
    if (value !== undefined && value !== '') return value;
    const file = kind === 'secret' ? environment[`${name}_FILE`] : undefined;
    if (file !== undefined) return readSecret(name, file);
    const cure = kind === 'secret' ? `set ${name}, or ${name}_FILE to a file that holds it` : `set ${name}`;
    throw new ProctorError('secret_missing', `\`\${${kind}:${name}}\` is not set in the environment; ${cure}`);
  };
}

function readSecret(name: string, file: string): string {
  try {
    return readRegularSync(file, MOST_SECRET_BYTES).toString('utf8').trimEnd();
  } catch (error) {
    throw new ProctorError('secret_missing', `\`${file}\`, which ${name}_FILE names, ${(error as Error).message}`, {
      cause: error,
    });
  }
}

function projectDir(cwd: string): string {
  for (let folder = path.resolve(cwd); ; folder = path.dirname(folder)) {
    if (existsSync(path.join(folder, '.proctor')) || existsSync(path.join(folder, 'proctor.yaml'))) return folder;
    if (path.dirname(folder) === folder) return path.resolve(cwd);
  }
}
