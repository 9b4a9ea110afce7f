/** A JSON value with every text resolved (`${secret:NAME}`, `${env:NAME}`). */
export function resolveDeep(value: unknown, resolve: (text: string) => string): unknown {
  if (typeof value === 'string') return resolve(value);
  if (Array.isArray(value)) return value.map((item) => resolveDeep(item, resolve));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, resolveDeep(member, resolve)]));
}
