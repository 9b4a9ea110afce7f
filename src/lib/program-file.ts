/**
 * The file of another program of ours: from the sources it stands at `relative` (without its extension) to the module that asks,
 * in the package every program lies in one folder with the code.
 */
export function programFile(asker: string, relative: string): URL {
  if (asker.endsWith('.ts')) return new URL(`${relative}.ts`, asker);
  return new URL(`./${relative.slice(relative.lastIndexOf('/') + 1)}.js`, asker);
}
