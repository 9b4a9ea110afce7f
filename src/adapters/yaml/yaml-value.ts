import {
  type Alias,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  type LineCounter,
  type Node,
  type Scalar,
  type YAMLMap,
} from 'yaml';
import type { Json } from '../../lib/canonical-json.ts';
import { type IssueText, issueText, type JsonIssue, type JsonIssueKind, pointerOf } from '../../lib/json-issue.ts';
import { carriesExactly } from '../../lib/json-literal.ts';
import { setOwn } from '../../lib/own-member.ts';

/** What one pass over a YAML document keeps: the anchors so far and how to tell lines. */
export interface YamlPass {
  readonly counter: LineCounter;
  /** Values of the anchors already read, in document order, with the number of values that each holds. */
  readonly anchors: Map<string, { readonly value: Json; readonly size: number }>;
  readonly ignoreNumbersAt: (pointer: string) => boolean;
  /** Whether `<<` takes in the members of another map; unsaid, it is refused. */
  readonly merge?: boolean;
}

/** Most values that the aliases of one case may stand for: a bomb of nested aliases would name billions. */
const MAX_ALIASED_VALUES = 100_000;
const MAX_DEPTH = 200;

/** The JSON value of a YAML node and what JSON cannot carry of it. Aliases share their anchor's value. */
export function yamlValue(pass: YamlPass, node: unknown): { value: Json; issues: readonly JsonIssue[] } {
  const walk: Walk = { pass, issues: [], path: [], size: 0, aliased: 0 };
  const value = jsonOf(walk, node);
  return { value, issues: walk.issues };
}

interface Walk {
  readonly pass: YamlPass;
  readonly issues: JsonIssue[];
  readonly path: (string | number)[];
  size: number;
  aliased: number;
}

function jsonOf(walk: Walk, node: unknown): Json {
  const sizeBefore = walk.size;
  walk.size += 1;
  if (isAlias(node)) return aliasValue(walk, node);
  const value = ownValue(walk, node);
  const anchor = isScalar(node) || isMap(node) || isSeq(node) ? node.anchor : undefined;
  if (anchor) walk.pass.anchors.set(anchor, { value, size: walk.size - sizeBefore });
  return value;
}

function ownValue(walk: Walk, node: unknown): Json {
  if (node === null || node === undefined) return null;
  if (isScalar(node)) return scalarValue(walk, node);
  if (walk.path.length >= MAX_DEPTH) {
    report(walk, 'depth', node, issueText.depth(MAX_DEPTH));
    return null;
  }
  if (isMap(node)) return mapValue(walk, node);
  if (!isSeq(node)) return unsupported(walk, node, 'this');
  return node.items.map((item, index) => below(walk, index, item));
}

function mapValue(walk: Walk, map: YAMLMap): Json {
  const result: Record<string, Json> = {};
  const merges: Readonly<Record<string, Json>>[] = [];
  for (const { key, value } of map.items) {
    const name = keyName(key);
    if (name === null) {
      unsupported(walk, key, 'a member name that is not a text');
      continue;
    }
    if (name === '<<' && isScalar(key) && key.type === 'PLAIN') {
      const taken = walk.pass.merge ? mergeSources(below(walk, name, value)) : null;
      if (taken !== null) {
        merges.push(...taken);
        continue;
      }
      report(walk, 'syntax', key, {
        message: walk.pass.merge
          ? 'a merge key (`<<`) takes a map, or a list of maps'
          : 'merge keys (`<<`) are not read',
        hint: 'write the members out, or quote the name',
      });
      continue;
    }
    if (Object.hasOwn(result, name)) reportMember(walk, name, key);
    setOwn(result, name, below(walk, name, value));
  }
  // A map's own members come before what it takes in, and an earlier source before a later one.
  for (const source of merges)
    for (const [name, member] of Object.entries(source)) if (!Object.hasOwn(result, name)) setOwn(result, name, member);
  return result;
}

/** The maps that a merge key takes in; null when its value is neither a map nor a list of maps. */
function mergeSources(value: Json): readonly Readonly<Record<string, Json>>[] | null {
  const sources = Array.isArray(value) ? (value as readonly Json[]) : [value];
  return sources.every((source) => typeof source === 'object' && source !== null && !Array.isArray(source))
    ? (sources as readonly Readonly<Record<string, Json>>[])
    : null;
}

function below(walk: Walk, token: string | number, node: unknown): Json {
  walk.path.push(token);
  const value = jsonOf(walk, node);
  walk.path.pop();
  return value;
}

function aliasValue(walk: Walk, alias: Alias): Json {
  const target = walk.pass.anchors.get(alias.source);
  if (!target) {
    const message = `the alias \`*${alias.source}\` has no complete anchor before it`;
    report(walk, 'syntax', alias, { message, hint: `put \`&${alias.source}\` before the value that is meant` });
    return null;
  }
  walk.size += target.size - 1;
  walk.aliased += target.size;
  if (walk.aliased <= MAX_ALIASED_VALUES) return target.value;
  const message = `the aliases of one case expand to more than ${MAX_ALIASED_VALUES} values`;
  if (!walk.issues.some((issue) => issue.message === message)) {
    report(walk, 'depth', alias, { message, hint: 'write the values out, or keep them in a file' });
  }
  return null;
}

function scalarValue(walk: Walk, scalar: Scalar): Json {
  const { value } = scalar;
  if (value === null || typeof value === 'boolean') return value;
  if (typeof value === 'string') {
    if (!value.isWellFormed()) report(walk, 'lone_surrogate', scalar, issueText.surrogate(value, false));
    return value;
  }
  if (typeof value !== 'number') return unsupported(walk, scalar, 'this value');
  if (!walk.pass.ignoreNumbersAt(pointerOf(walk.path))) checkNumber(walk, scalar, value);
  return value;
}

function checkNumber(walk: Walk, scalar: Scalar, value: number): void {
  const source = scalar.source ?? String(value);
  const decimal = /^([-+]?)0*([0-9]+)$/.exec(source);
  const literal = decimal ? `${decimal[1] === '-' ? '-' : ''}${decimal[2]}` : source;
  const exact = /^0[xo]/.test(source) ? Number.isSafeInteger(value) : carriesExactly(literal, value, decimal !== null);
  if (/^[-+]?\.(inf|nan)$/i.test(source)) report(walk, 'non_finite_number', scalar, issueText.nonFinite(source));
  else if (!exact) report(walk, 'inexact_number', scalar, issueText.inexact(source, value));
}

/** The member name a key stands for: numbers and booleans by their text, as they are written. */
function keyName(key: unknown): string | null {
  if (!isScalar(key) || key.value === null) return null;
  return typeof key.value === 'string' ? key.value : (key.source ?? null);
}

function unsupported(walk: Walk, node: unknown, what: string): null {
  report(walk, 'syntax', node, { message: `${what} has no form in JSON`, hint: 'write it as a text in quotes' });
  return null;
}

function reportMember(walk: Walk, name: string, key: unknown): void {
  walk.path.push(name);
  report(walk, 'duplicate_key', key, issueText.duplicate(name));
  walk.path.pop();
}

function report(walk: Walk, kind: JsonIssueKind, node: unknown, text: IssueText): void {
  const offset = (node as Node | null)?.range?.[0] ?? 0;
  const { line, col } = walk.pass.counter.linePos(offset);
  walk.issues.push({ kind, pointer: pointerOf(walk.path), line, column: col, ...text });
}
