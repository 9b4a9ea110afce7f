import { digestBytes } from '../../lib/canonical-json.ts';

const MOST_NAME = 64;
const MARK = 8;

/** An operation to be named. */
export interface Nameable {
  readonly method: string;
  readonly path: string;
  readonly operation_id: unknown;
}

/**
 * A name for each operation, in their order: its id where that is its alone, else method and path. No name depends on the order of the
 * document, so that nobody who adds an operation gives its name to another.
 */
export function operationNames(operations: readonly Nameable[]): string[] {
  const ids = operations.map(({ operation_id }) => (typeof operation_id === 'string' ? plainName(operation_id) : ''));
  const idCount = counted(ids);
  const byId = ids.map((id) => id !== '' && idCount.get(id) === 1);
  const names = operations.map(({ method, path }, index) =>
    byId[index] ? (ids[index] ?? '') : plainName(`${method.toLowerCase()} ${path}`),
  );
  const count = counted(names);
  return names.map((name, index) => {
    const { method = '', path = '' } = operations[index] ?? {};
    return byId[index] || count.get(name) === 1 ? name : marked(name, `${method} ${path}`);
  });
}

/** A text as a name of ASCII letters, digits, single `_` and `-` (over MCP `__` ends the source's name); what is too long keeps its beginning and a mark of the whole. */
export function plainName(text: string): string {
  const plain = text.replaceAll(/[^A-Za-z0-9-]+/g, '_').replaceAll(/^_+|_+$/g, '');
  return plain.length <= MOST_NAME ? plain : marked(plain, text);
}

/** A name with a mark of what it stands for. */
export function marked(name: string, whole: string): string {
  return `${name.slice(0, MOST_NAME - MARK - 1)}_${digestBytes(whole).slice(0, MARK)}`;
}

/**
 * Names of arguments for parameters, in their order: the parameter's own where it is one only and not taken, else with its place
 * before it, and a number where even that is taken. No two are alike.
 */
export function argumentNames(
  parameters: readonly { readonly name: string; readonly in: string }[],
  taken: readonly string[],
): string[] {
  const plain = parameters.map(({ name }) => plainName(name) || 'parameter');
  const count = counted(plain);
  const used = new Set([...taken, '__proto__']);
  const alone = plain.map((name) => count.get(name) === 1 && !used.has(name));
  for (const [index, name] of plain.entries()) if (alone[index]) used.add(name);
  return plain.map((name, index) => {
    if (alone[index]) return name;
    const placed = `${parameters[index]?.in}_${name}`.slice(0, MOST_NAME - 4);
    let free = placed;
    for (let number = 2; used.has(free); number += 1) free = `${placed}_${number}`;
    used.add(free);
    return free;
  });
}

function counted(names: readonly string[]): Map<string, number> {
  const count = new Map<string, number>();
  for (const name of names) count.set(name, (count.get(name) ?? 0) + 1);
  return count;
}
