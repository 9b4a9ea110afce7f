/**
 * True when a name matches a glob in which `*` stands for any characters (also none). The pieces between stars are searched from the
 * left, each once, so that no input makes it go back: as fast as searching for the longest piece.
 */
export function globMatches(glob: string, name: string): boolean {
  const pieces = glob.split('*');
  const first = pieces[0] ?? '';
  if (pieces.length === 1) return name === first;
  const last = pieces[pieces.length - 1] ?? '';
  const end = name.length - last.length;
  if (end < first.length || !name.startsWith(first) || !name.endsWith(last)) return false;
  let at = first.length;
  for (let index = 1; index < pieces.length - 1; index += 1) {
    const piece = pieces[index] ?? '';
    const found = name.indexOf(piece, at);
    if (found < 0 || found + piece.length > end) return false;
    at = found + piece.length;
  }
  return true;
}
