/**
 * JSON text of a value that user code returned. Throws a TypeError that names the path of what JSON cannot carry
 * (functions, BigInt, non-finite numbers, Map, Set, promises, cycles) instead of dropping it; `undefined` members are left out.
 */
export function strictJson(value: unknown): string {
  const path: { holder: unknown; key: string }[] = [];
  const text = JSON.stringify(value, function (this: unknown, key, member: unknown) {
    while (path.length > 0 && path.at(-1)?.holder !== this) path.pop();
    const why = unfit(member);
    if (why !== null)
      throw new TypeError(
        `the result holds ${why} at \`${path
          .slice(1)
          .map((step) => `/${step.key}`)
          .join('')}${key === '' ? '/' : `/${key}`}\`; JSON has no form for it`,
      );
    if (typeof member === 'object' && member !== null) path.push({ holder: member, key });
    return member;
  });
  if (text === undefined) throw new TypeError('the result is undefined; return a value');
  return text;
}

function unfit(value: unknown): string | null {
  switch (typeof value) {
    case 'function':
    case 'symbol':
    case 'bigint':
      return `a ${typeof value}`;
    case 'number':
      return Number.isFinite(value) ? null : `the number ${value}`;
    case 'object':
      if (value instanceof Map || value instanceof Set || value instanceof Promise)
        return `a ${value.constructor.name}`;
      return null;
    default:
      return null;
  }
}
