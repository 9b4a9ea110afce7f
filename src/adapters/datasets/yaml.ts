import { type Document, isMap, isPair, isScalar, isSeq, type Node, type ParsedNode } from 'yaml';
import type { DatasetFormat, DatasetItem, DatasetOptions } from '../../contract/case.ts';
import { diagnostic } from '../../contract/problem.ts';
import { pointerTokens, pointerValue } from '../../lib/json-pointer.ts';
import { startsWithMark } from '../../lib/utf8.ts';
import { parseYaml } from '../yaml/parse-yaml.ts';
import { type YamlPass, yamlValue } from '../yaml/yaml-value.ts';
import { type CaseReader, caseReader } from './case-reader.ts';
import { headerProblems } from './dataset-header.ts';
import { datasetReader, type FoundIdentity, fileProblem, problemItem } from './dataset-reader.ts';
import { fileChunks } from './file-chunks.ts';
import { issueProblem, rowText } from './json-row.ts';
import type { RowPlace } from './row.ts';

/** Largest YAML file: the parser keeps the whole document, about 100 bytes of memory for each byte of the file. */
export const MAX_YAML_BYTES = 8 * 1024 * 1024;

/** YAML 1.2: a list of rows, or a map with `cases`; read as a whole, with the line of each case. */
export const yamlFormat: DatasetFormat = {
  name: 'yaml',
  extensions: ['.yaml', '.yml'],
  read: (options) => {
    const cases = caseReader(options, 'values');
    return datasetReader(options, (identity) => rows(options, cases, identity));
  },
};

async function* rows(
  options: DatasetOptions,
  cases: CaseReader,
  identity: FoundIdentity,
): AsyncGenerator<readonly DatasetItem[]> {
  const text = await wholeText(options);
  if (typeof text !== 'string') return yield [text];
  const { document, counter, mistakes } = parseYaml(text);
  const file = options.shown_path;
  const wrong = mistakes.map(({ message, offset, hint }) => {
    const { line, col } = counter.linePos(offset);
    return problemItem(diagnostic(message, { file, line, column: col, hint }));
  });
  if (wrong.length > 0) return yield wrong;
  const pass = { counter, anchors: new Map(), ignoreNumbersAt: cases.ignoreNumbersAt };
  for (const item of documentItems({ options, cases, identity, pass }, document)) yield [item];
}

interface Reading {
  readonly options: DatasetOptions;
  readonly cases: CaseReader;
  readonly identity: FoundIdentity;
  readonly pass: YamlPass;
}

async function wholeText(options: DatasetOptions): Promise<string | DatasetItem> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const chunk of fileChunks(options)) {
    if (chunk.type === 'problem') return problemItem(chunk.problem);
    parts.push(chunk.bytes);
    size += chunk.bytes.length;
    if (size > MAX_YAML_BYTES) {
      return fileProblem(
        options,
        `the YAML file is larger than ${MAX_YAML_BYTES} bytes`,
        'convert it to JSONL, which is streamed',
      );
    }
  }
  const bytes = Buffer.concat(parts);
  const skipped = startsWithMark(bytes) ? 3 : 0;
  const place = { file: options.shown_path, label: '', line: 1, column: 1, offset: skipped, size };
  const text = rowText({ ...place, bytes: bytes.subarray(skipped) });
  return typeof text === 'string' ? text : problemItem({ ...text, line: null });
}

function* documentItems(reading: Reading, document: Document.Parsed<ParsedNode>): Generator<DatasetItem> {
  const { options, identity, pass } = reading;
  const { contents } = document;
  const shape = 'write a list of cases, or a map with `cases`';
  if (isSeq(contents)) return yield* listItems(reading, contents.items, '');
  if (contents === null || (isScalar(contents) && contents.value === null))
    return yield fileProblem(options, 'the file is empty', shape);
  if (!isMap(contents)) return yield fileProblem(options, 'the file holds neither a list nor a map', shape);
  const seen = new Set<string>();
  for (const { key, value } of contents.items) {
    const name = isScalar(key) ? String(key.value) : '';
    const place = { file: options.shown_path, ...placeOf(pass, key), field: name || null };
    if (seen.has(name)) {
      const hint = 'remove or rename one of the two';
      yield problemItem(diagnostic(`duplicate key \`${name}\` in the dataset`, { ...place, hint }));
    } else if (name === 'cases' && isSeq(value)) yield* listItems(reading, value.items, 'cases');
    else {
      const read = yamlValue({ ...pass, ignoreNumbersAt: () => false }, value);
      const problems = read.issues.map((issue) => issueProblem(issue, options.shown_path, name));
      yield* (problems.length > 0 ? problems : headerProblems(identity, name, read.value, place)).map(problemItem);
    }
    seen.add(name);
  }
  if (!seen.has('cases')) yield fileProblem(options, 'the file has no `cases`', shape);
}

function* listItems(reading: Reading, nodes: readonly unknown[], list: string): Generator<DatasetItem> {
  const { options, cases, pass } = reading;
  for (const [index, node] of nodes.entries()) {
    options.signal.throwIfAborted();
    const { value, issues } = yamlValue(pass, node);
    const place = placeOf(pass, node);
    yield* cases.read({
      value,
      issues,
      line: place.line,
      label: `${list}[${index}]`,
      textAt: (pointer) => JSON.stringify(pointerValue(value, pointer)),
      placeOf: (pointer) => placeOf(pass, nodeAt(node, pointer) ?? node),
    });
  }
}

function placeOf(pass: YamlPass, node: unknown): RowPlace & { readonly line: number } {
  const { line, col } = pass.counter.linePos((node as Node | null)?.range?.[0] ?? 0);
  return { line: Math.max(line, 1), column: Math.max(col, 1) };
}

/** The node that a pointer leads to, or its key when the value is empty; aliases are not followed. */
function nodeAt(node: unknown, pointer: string): unknown {
  let current = node;
  for (const token of pointerTokens(pointer)) {
    if (isSeq(current)) current = current.items[Number(token)];
    else if (isMap(current)) {
      const pair = current.items.find((item) => isPair(item) && isScalar(item.key) && String(item.key.value) === token);
      current = pair?.value ?? pair?.key;
    } else return current;
  }
  return current;
}
