/** A text cut to so many characters, saying how many it has. */
export function cutText(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most)} … (${text.length} characters)`;
}

/** A text of several lines cut to so many characters: a long line does not take the place of those behind it. */
export function cutLines(text: string, most: number): string {
  const lines = text.split('\n');
  const few = Math.min(lines.length, MOST_SHARING);
  const cut = lines.map((line) => cutText(line, Math.floor(most / few))).join('\n');
  return lines.length === few || cut.length <= most ? cut : `${cut.slice(0, most)} … (${text.length} characters)`;
}

const MOST_SHARING = 8; // lines

/** Several texts cut to so many characters together: `cut` is asked for those that are longer than their share. */
export function cutTexts<T extends { readonly text: string }>(
  of: readonly T[],
  most: number,
  cut: (item: T, share: number) => string,
): string[] {
  const given = shares(
    of.map(({ text }) => text.length),
    most,
  );
  return of.map((item, index) => {
    const share = given[index]!;
    return item.text.length <= share ? item.text : cut(item, share);
  });
}

/** How much of a whole each wish gets: small wishes all of theirs, the others equal parts of the rest. */
export function shares(wishes: readonly number[], whole: number): number[] {
  const given: number[] = [];
  let left = whole;
  const ascending = wishes.map((wish, index) => ({ wish, index })).sort((one, other) => one.wish - other.wish);
  ascending.forEach(({ wish, index }, at) => {
    const share = Math.min(wish, Math.floor(left / (wishes.length - at)));
    given[index] = share;
    left -= share;
  });
  return given;
}
