/** True when a name matches a glob in which `*` stands for any characters (also none); at most name × glob steps. */
export function globMatches(glob: string, name: string): boolean {
  let at = 0;
  let from = 0;
  let star = -1;
  let resume = 0;
  while (from < name.length) {
    if (glob[at] === '*') {
      star = at;
      resume = from;
      at += 1;
    } else if (at < glob.length && glob[at] === name[from]) {
      at += 1;
      from += 1;
    } else if (star >= 0) {
      resume += 1;
      from = resume;
      at = star + 1;
    } else return false;
  }
  while (glob[at] === '*') at += 1;
  return at === glob.length;
}
