import { isMap, isSeq, type Node, type Pair, type YAMLMap } from 'yaml';
import { type Diagnostic, diagnostic } from '../../contract/problem.ts';
import { pointerTokens } from '../../lib/json-pointer.ts';
import { type ParsedYaml, parseYaml } from './parse-yaml.ts';
import { yamlValue } from './yaml-value.ts';

/** A YAML (or JSON) text parsed with the place of every member. */
export interface PlacedDocument {
  readonly value: unknown;
  readonly problems: readonly Diagnostic[];
  /** Line and column of a member, or of the nearest parent that exists. */
  placeOf(path: readonly PropertyKey[]): { line: number | null; column: number | null };
}

/** How a text is parsed. */
export interface PlacedOptions {
  /** Whether `<<` takes in the members of another map, as YAML 1.1 has it. */
  readonly merge?: boolean;
}

const MOST_PROBLEMS = 100;

/** Parses YAML 1.2 with its core schema; duplicate keys, unknown tags, alias bombs and what JSON cannot carry are problems. */
export function parsePlaced(text: string, file: string, { merge = false }: PlacedOptions = {}): PlacedDocument {
  const { document, counter, mistakes } = parseYaml(text);
  const at = (offset: number | undefined) => {
    if (offset === undefined) return { line: null, column: null };
    const { line, col } = counter.linePos(offset);
    return { line: line === 0 ? null : line, column: col };
  };
  const offsetOf = places(document);
  const placeOf = (path: readonly PropertyKey[]) => at(offsetOf(path));
  if (mistakes.length > 0) {
    const problems = mistakes.map(({ message, offset, hint }) => diagnostic(message, { file, ...at(offset), hint }));
    return { value: null, problems, placeOf };
  }
  const pass = { counter, anchors: new Map(), ignoreNumbersAt: () => true, merge };
  const { value, issues } = yamlValue(pass, document.contents);
  const problems = issues
    .slice(0, MOST_PROBLEMS)
    .map(({ message, line, column, hint, pointer }) =>
      diagnostic(message, { file, line, column, hint, field: fieldOf(pointerTokens(pointer)) }),
    );
  return { value, problems, placeOf };
}

/** Finds the offset of a member; the members of a map are gone through once, however many are looked for. */
function places(document: ParsedYaml['document']): (path: readonly PropertyKey[]) => number | undefined {
  const known = new WeakMap<YAMLMap, Map<string, Pair>>();
  const pairOf = (map: YAMLMap, key: PropertyKey) => {
    let pairs = known.get(map);
    if (pairs === undefined) {
      pairs = new Map(
        map.items
          .toReversed() // of two with one name, the first is meant
          .map((item) => [String((item.key as { value?: unknown } | null)?.value), item]),
      );
      known.set(map, pairs);
    }
    return pairs.get(String(key));
  };
  return (path) => {
    let node = document.contents as Node | null;
    let offset = node?.range?.[0];
    for (const key of path) {
      if (isMap(node)) {
        const pair = pairOf(node, key);
        if (pair === undefined) break;
        offset = (pair.key as Node).range?.[0] ?? offset;
        node = pair.value as Node | null;
      } else if (isSeq(node)) {
        const item = node.items[Number(key)] as Node | undefined;
        if (item === undefined) break;
        node = item;
        offset = item.range?.[0] ?? offset;
      } else break;
    }
    return offset;
  };
}

/** `case_groups[0].evaluators[1].ref` of a path. */
export function fieldOf(path: readonly PropertyKey[]): string | null {
  if (path.length === 0) return null;
  return path.reduce<string>(
    (text, key) => (typeof key === 'number' ? `${text}[${key}]` : `${text}${text === '' ? '' : '.'}${String(key)}`),
    '',
  );
}
