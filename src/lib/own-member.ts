/** Sets an own member whatever its name: plain assignment to `__proto__` would change the prototype instead. */
export function setOwn<T>(record: Record<string, T>, name: string, value: T): void {
  if (name === '__proto__') {
    Object.defineProperty(record, name, { value, enumerable: true, writable: true, configurable: true });
  } else record[name] = value;
}
