/** The beginning of a text that came from outside, at most `length` characters, fit to be recorded. */
export function excerpt(text: string, length: number): string {
  return (text.length > length ? `${text.slice(0, length)}…` : text).toWellFormed();
}

/** The end of a text that came from outside, at most `length` characters, fit to be recorded. */
export function ending(text: string, length: number): string {
  return (text.length > length ? `…${text.slice(-length)}` : text).toWellFormed();
}
