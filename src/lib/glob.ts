/** True when a name matches a glob in which `*` stands for any characters (also none). */
export function globMatches(glob: string, name: string): boolean {
  return compileGlob(glob)(name);
}

/**
 * A glob in which `*` stands for any characters (also none), ready to be asked often. The pieces between stars are searched from the
 * left, each once, so that no input makes it go back: as fast as searching for the longest piece.
 */
function compileGlob(glob: string): (name: string) => boolean {
  if (glob === '*') return () => true;
  const [first = '', ...rest] = glob.split('*');
  const last = rest.pop();
  if (last === undefined) return (name) => name === first;
  return (name) => {
    const end = name.length - last.length;
    if (end < first.length || !name.startsWith(first) || !name.endsWith(last)) return false;
    let at = first.length;
    for (const piece of rest) {
      const found = name.indexOf(piece, at);
      if (found < 0 || found + piece.length > end) return false;
      at = found + piece.length;
    }
    return true;
  };
}

/** True when one of several globs matches; ready to be asked often. */
export function compileGlobs(globs: readonly string[]): (name: string) => boolean {
  const [only, ...more] = globs.map(compileGlob);
  if (only === undefined) return () => false;
  return more.length === 0 ? only : (name) => only(name) || more.some((matches) => matches(name));
}
