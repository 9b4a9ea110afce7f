/** The member tokens of a JSON pointer (RFC 6901); throws a TypeError that says what is wrong with it. */
export function pointerTokens(pointer: string): string[] {
  if (pointer === '') return [];
  if (!pointer.startsWith('/'))
    throw new TypeError(`\`${pointer}\` is not a JSON pointer: it must be empty or start with \`/\``);
  return pointer
    .slice(1)
    .split('/')
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** The value a pointer leads to, or undefined; only own members are followed. */
export function pointerValue(value: unknown, pointer: string): unknown {
  let current = value;
  for (const token of pointerTokens(pointer)) {
    if (Array.isArray(current)) current = /^(0|[1-9][0-9]*)$/.test(token) ? current[Number(token)] : undefined;
    else if (typeof current === 'object' && current !== null && Object.hasOwn(current, token))
      current = (current as Record<string, unknown>)[token];
    else return undefined;
  }
  return current;
}
