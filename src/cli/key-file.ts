import { ProctorError } from '../contract/problem.ts';
import { readRegular } from '../lib/regular-file.ts';

const MOST_BYTES = 64 * 1024;

/** The text of a key file. */
export async function readKey(file: string): Promise<string> {
  const bytes = await readRegular(file, MOST_BYTES).catch((error: Error) => {
    throw new ProctorError('invalid_input', `the key \`${file}\` ${error.message}`, { cause: error });
  });
  return bytes.toString('utf8');
}
