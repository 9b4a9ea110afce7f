import { statSync } from 'node:fs';
import path from 'node:path';

/**
 * A file of the benchmark records that `PROCTOR_DATA` names; the project does not ship them. Tests that read them stand in
 * `test/real-data/`, which `npm test` runs where the variable is set. Half a folder is a failure, not a reason to leave tests out.
 */
export function realData(name: string): string {
  const folder = process.env['PROCTOR_DATA'] ?? '';
  if (folder === '') throw new Error('set PROCTOR_DATA to the folder of the benchmark records');
  const file = path.resolve(folder, name);
  if (statSync(file, { throwIfNoEntry: false })?.isFile() !== true)
    throw new Error(`PROCTOR_DATA is \`${folder}\`, and \`${file}\` is not there`);
  return file;
}
