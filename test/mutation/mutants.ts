import { stripTypeScriptTypes } from 'node:module';
import { parseAst } from 'rolldown/parseAst';
import { type Node, replacementsOf } from './replacements.ts';

/** One change of one file that a test has to notice. */
export interface Mutant {
  /** Its name within the file: function, what stood there, what stands there now. It outlives moved lines. */
  readonly name: string;
  readonly line: number;
  readonly start: number;
  readonly end: number;
  readonly code: string;
}

/** The text that is mutated and run: types become spaces, so every position stays. */
export function javascript(typescript: string): string {
  return stripTypeScriptTypes(typescript);
}

/** Every mutant of a file; `text` has no types any more. A change that is no valid program says nothing and is left out. */
export function mutantsOf(text: string): Mutant[] {
  const found: Mutant[] = [];
  const names = new Map<string, number>();
  const seen = new Set<string>();
  visit(parseAst(text) as unknown as Node, [], (node, where) => {
    for (const { start, end, code, now } of replacementsOf(node, text)) {
      const place = `${start} ${end} ${code}`;
      if (seen.has(place) || !isProgram(text.slice(0, start) + code + text.slice(end))) continue;
      seen.add(place);
      const name = `${where.join('.') || 'module'}: ${short(text.slice(start, end))} → ${short(now)}`;
      const count = (names.get(name) ?? 0) + 1;
      names.set(name, count);
      const line = text.slice(0, start).split('\n').length;
      found.push({ name: count === 1 ? name : `${name} #${count}`, line, start, end, code });
    }
  });
  return found.sort((a, b) => a.start - b.start);
}

const SHOWN = 90;

function short(code: string): string {
  const line = code.replace(/\s+/g, ' ').trim();
  return line.length > SHOWN ? `${line.slice(0, SHOWN)}…` : line;
}

function isProgram(text: string): boolean {
  try {
    parseAst(text, { sourceType: 'module' });
    return true;
  } catch {
    return false;
  }
}

/** Where a change would not be one: what is imported, and names of members. */
const LEFT_OUT = new Set(['ImportDeclaration', 'ExportAllDeclaration', 'TemplateElement']);

function visit(node: Node, where: readonly string[], each: (node: Node, where: readonly string[]) => void): void {
  if (LEFT_OUT.has(node.type)) return;
  if (node.type === 'ExportNamedDeclaration' && node['source'] != null) return;
  const name = nameOf(node);
  const inside = name === null ? where : [...where, name];
  each(node, inside);
  for (const [member, value] of Object.entries(node)) {
    if (member === 'key' && node['computed'] !== true) continue;
    for (const child of Array.isArray(value) ? value : [value]) if (isNode(child)) visit(child, inside, each);
  }
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && typeof (value as { type?: unknown }).type === 'string';
}

const FUNCTIONS = new Set(['ArrowFunctionExpression', 'FunctionExpression']);

/** The name that a function, class, method or constant adds to the places inside of it. */
function nameOf(node: Node): string | null {
  const { type } = node;
  const holds = (node['init'] ?? node['value'] ?? null) as Node | null;
  if (type === 'FunctionDeclaration' || type === 'ClassDeclaration') return identifier(node['id']);
  if (type === 'MethodDefinition' || type === 'PropertyDefinition') return identifier(node['key']);
  if (type === 'Property' && holds !== null && FUNCTIONS.has(holds.type)) return identifier(node['key']);
  if (type === 'VariableDeclarator' && holds !== null && FUNCTIONS.has(holds.type)) return identifier(node['id']);
  if (type === 'VariableDeclarator' && /^[A-Z_]+$/.test(identifier(node['id']) ?? '')) return identifier(node['id']);
  return null;
}

function identifier(node: unknown): string | null {
  if (!isNode(node)) return null;
  const name = node['name'] ?? node['value'];
  return typeof name === 'string' ? name : null;
}
