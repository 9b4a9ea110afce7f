import type { Found } from './automaton.ts';

/** Stands where a text was cut off. */
const ELLIPSIS = '…';
/** Of a longer piece, so many characters next to the cut are looked for in the secret first. */
const ANCHOR = 256;
/** A text with more ellipses is no excerpt, and to look at each of them would take too long. */
const MOST_CUTS = 1_000;

/**
 * Pieces of secrets that a cut text still holds: the beginning of one in front of an ellipsis, the end of one behind it. A piece shorter than
 * `least` tells too little to be told from ordinary text.
 */
export function cutPieces(text: string, secrets: readonly string[], least: number): Found[] {
  const found: Found[] = [];
  let at = text.indexOf(ELLIPSIS);
  for (let cut = 0; at >= 0 && cut < MOST_CUTS; cut += 1) {
    for (const [owner, secret] of secrets.entries()) {
      const letters = secret.toLowerCase();
      const before = text.slice(Math.max(0, at - letters.length), at).toLowerCase();
      const head = longestEnd(before, letters);
      if (head >= least) found.push({ start: at - head, end: at, owner });
      const after = text.slice(at + 1, at + 1 + letters.length).toLowerCase();
      const tail = longestEnd(letters, after);
      if (tail >= least) found.push({ start: at + 1, end: at + 1 + tail, owner });
    }
    at = text.indexOf(ELLIPSIS, at + 1);
  }
  return found;
}

/** How many characters the longest end of one text has that is a beginning of the other. */
function longestEnd(text: string, other: string): number {
  const most = Math.min(text.length, other.length);
  if (most > ANCHOR) {
    const anchor = text.slice(-ANCHOR);
    for (let at = other.lastIndexOf(anchor, most - ANCHOR); at > 0; at = other.lastIndexOf(anchor, at - 1))
      if (text.endsWith(other.slice(0, at + ANCHOR))) return at + ANCHOR;
  }
  for (let length = Math.min(most, ANCHOR); length > 0; length -= 1)
    if (other.startsWith(text.slice(-length))) return length;
  return 0;
}
