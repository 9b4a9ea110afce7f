import { readFile } from 'node:fs/promises';
import { ProctorError } from '../contract/problem.ts';

/** The text of a key file. */
export async function readKey(file: string): Promise<string> {
  return await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new ProctorError('invalid_input', `the key \`${file}\` cannot be read (${error.code ?? error.message})`, {
      cause: error,
    });
  });
}
