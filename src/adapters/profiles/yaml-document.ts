import { type Document, isMap, isSeq, LineCounter, type Node, parseDocument } from 'yaml';
import { type Diagnostic, diagnostic } from '../../contract/problem.ts';

/** A YAML (or JSON) text parsed with the place of every member. */
export interface PlacedDocument {
  readonly value: unknown;
  readonly problems: readonly Diagnostic[];
  /** Line and column of a member, or of the nearest parent that exists. */
  placeOf(path: readonly PropertyKey[]): { line: number | null; column: number | null };
}

/** Parses YAML 1.2 with its core schema; duplicate keys, unknown tags and alias bombs are problems. */
export function parsePlaced(text: string, file: string): PlacedDocument {
  const counter = new LineCounter();
  const document = parseDocument(text, { lineCounter: counter, uniqueKeys: true, strict: true, prettyErrors: false });
  const at = (offset: number | undefined) => {
    if (offset === undefined) return { line: null, column: null };
    const { line, col } = counter.linePos(offset);
    return { line: line === 0 ? null : line, column: col };
  };
  const problems: Diagnostic[] = [...document.errors, ...document.warnings].map((error) =>
    diagnostic(error.message, { file, ...at(error.pos[0]), hint: 'mend the YAML here' }),
  );
  let value: unknown = null;
  if (problems.length === 0) {
    try {
      value = document.toJS({ maxAliasCount: 100 });
    } catch (error) {
      problems.push(
        diagnostic(error instanceof Error ? error.message : String(error), { file, hint: 'use fewer aliases' }),
      );
    }
  }
  return { value, problems, placeOf: (path) => at(offsetOf(document, path)) };
}

function offsetOf(document: Document, path: readonly PropertyKey[]): number | undefined {
  let node = document.contents as Node | null;
  let offset = node?.range?.[0];
  for (const key of path) {
    if (isMap(node)) {
      const pair = node.items.find((item) => String((item.key as { value?: unknown } | null)?.value) === String(key));
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
}

/** `case_groups[0].evaluators[1].ref` of a path. */
export function fieldOf(path: readonly PropertyKey[]): string | null {
  if (path.length === 0) return null;
  return path.reduce<string>(
    (text, key) => (typeof key === 'number' ? `${text}[${key}]` : `${text}${text === '' ? '' : '.'}${String(key)}`),
    '',
  );
}
