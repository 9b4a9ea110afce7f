import type { SqlDialect, SqlKind, SqlStatement } from '../../contract/sql.ts';
import { HARMLESS_FUNCTIONS } from './functions.ts';

/** Thrown where a statement has something that cannot be told. */
class Unsure extends Error {}

type Node = Readonly<Record<string, unknown>>;
/** Names of the CTEs that are seen. */
type Scope = ReadonlySet<string>;
type Sink = 'reads' | 'writes';

const DML: Readonly<Record<string, SqlKind>> = { Insert: 'insert', Update: 'update', Delete: 'delete', Merge: 'merge' };
/** Kinds of the other statements by how the parser's names for them begin. */
const OTHERS: readonly (readonly [RegExp, SqlKind])[] = [
  [/^Truncate/, 'truncate'],
  [/^Create/, 'create'],
  [/^Alter/, 'alter'],
  [/^Drop/, 'drop'],
  [/^Copy/, 'copy'],
  [/^Call$/, 'call'],
  [/^Set/, 'set'],
  [/^Pragma$/, 'pragma'],
  [/^(Attach|Detach)/, 'attach'],
  [/^(StartTransaction|Commit|Rollback|Savepoint|ReleaseSavepoint)$/, 'transaction'],
  [/^(Grant|Revoke|Deny)/, 'grant'],
  [/^Show/, 'show'],
];
/** What a query may have, besides its CTEs, body and locks, that is looked at as an expression. */
const QUERY_MEMBERS = new Set(['with', 'body', 'locks', 'order_by', 'limit_clause', 'fetch']);
/** Keywords that the parser takes for a table's name. */
const NO_TABLES = new Set(['only', 'lateral', 'rows', 'table', 'select', 'values', 'with']);

/** What a statement does, by the parser's tree of it. Every query in it is looked at, every table and every function; what is not known is not guessed. */
export class StatementWalk {
  readonly #dialect: SqlDialect;
  readonly #kinds = new Set<SqlKind>();
  readonly #reads = new Set<string>();
  readonly #writes = new Set<string>();
  readonly #functions = new Set<string>();

  constructor(dialect: SqlDialect) {
    this.#dialect = dialect;
  }

  read(statement: unknown): SqlStatement {
    this.#statement(statement, new Set());
    return {
      kinds: [...this.#kinds],
      reads: [...this.#reads],
      writes: [...this.#writes],
      functions: [...this.#functions],
    };
  }

  #statement(statement: unknown, scope: Scope): void {
    const [variant, body] = variantOf(statement);
    if (variant === 'Query') {
      this.#kinds.add('select');
      this.#query(node(body), scope);
    } else if (variant === 'Explain') this.#explain(node(body), scope);
    else if (variant === 'ExplainTable') {
      this.#kinds.add('explain');
      this.#name(node(body)['table_name'], 'reads');
    } else if (DML[variant] !== undefined) {
      this.#kinds.add(DML[variant]);
      this.#change(variant, node(body), scope);
    } else {
      this.#kinds.add(OTHERS.find(([pattern]) => pattern.test(variant))?.[1] ?? 'other');
      if (variant === 'Call') this.#function(node(body)['name']);
      else this.#names(body);
      this.#within(body, scope);
    }
  }

  /** Without ANALYZE nothing is carried out; options may be ANALYZE. */
  #explain(body: Node, scope: Scope): void {
    const inner = new StatementWalk(this.#dialect);
    inner.#statement(body['statement'], scope);
    this.#kinds.add('explain');
    for (const name of inner.#reads) this.#reads.add(name);
    for (const name of inner.#functions) this.#functions.add(name);
    if (body['analyze'] !== true && isNothing(body['options'])) return;
    for (const kind of inner.#kinds) this.#kinds.add(kind);
    for (const name of inner.#writes) this.#writes.add(name);
  }

  #change(variant: string, body: Node, scope: Scope): void {
    const { table, tables, from, using, source, with: ctes, ...rest } = body;
    if (!isNothing(ctes)) throw new Unsure('a CTE of the statement itself');
    if (variant === 'Insert') {
      const [form, name] = variantOf(table);
      if (form !== 'TableName') throw new Unsure(form);
      this.#name(name, 'writes');
      if (!isNothing(body['or']) || body['replace_into'] === true || body['overwrite'] === true)
        this.#kinds.add('delete');
      if (!isNothing(body['on'])) this.#kinds.add('update');
      if (!isNothing(source)) this.#query(node(source), scope);
    } else if (variant === 'Merge') {
      this.#relation(table, 'writes', scope);
      this.#relation(source, 'reads', scope);
    } else {
      if (!isNothing(source)) throw new Unsure('source');
      if (variant === 'Update') this.#joined(table, 'writes', scope);
      for (const name of list(tables)) this.#name(name, 'writes');
      // What a DELETE is from is written, what an UPDATE is from is read.
      if (!isNothing(from))
        for (const one of list(variantOf(from)[1])) this.#joined(one, variant === 'Delete' ? 'writes' : 'reads', scope);
      for (const one of list(using)) this.#joined(one, 'reads', scope);
    }
    if (!isNothing(rest['returning']) || this.#writes.size > 1) for (const name of this.#writes) this.#reads.add(name);
    this.#within(rest, scope);
  }

  #query(query: Node, outer: Scope): void {
    for (const [member, value] of Object.entries(query))
      if (!QUERY_MEMBERS.has(member) && !isNothing(value)) throw new Unsure(member);
    const scope = isNothing(query['with']) ? outer : this.#ctes(node(query['with']), outer);
    if (!isNothing(query['locks'])) this.#kinds.add('select_for_update');
    this.#set(query['body'], scope);
    this.#within([query['order_by'], query['limit_clause'], query['fetch'], query['locks']], scope);
  }

  /** Each CTE sees those before it, and itself where it is recursive. */
  #ctes(ctes: Node, outer: Scope): Scope {
    let scope = outer;
    for (const cte of list(ctes['cte_tables']).map(node)) {
      const name = this.#identifier(node(cte['alias'])['name']);
      const seen = new Set([...scope, name]);
      this.#query(node(cte['query']), ctes['recursive'] === true ? seen : scope);
      scope = seen;
    }
    return scope;
  }

  #set(body: unknown, scope: Scope): void {
    const [variant, inner] = variantOf(body);
    if (variant === 'Select') this.#select(node(inner), scope);
    else if (variant === 'Query') this.#query(node(inner), scope);
    else if (variant === 'Values') this.#within(inner, scope);
    else if (variant === 'SetOperation') {
      this.#set(node(inner)['left'], scope);
      this.#set(node(inner)['right'], scope);
    } else if (DML[variant] !== undefined) this.#statement(inner, scope);
    else throw new Unsure(variant);
  }

  #select(select: Node, scope: Scope): void {
    const { from, into, ...rest } = select;
    for (const one of list(from)) this.#joined(one, 'reads', scope);
    if (!isNothing(into)) {
      this.#kinds.add('select_into');
      this.#name(node(into)['name'], 'writes');
    }
    this.#within(rest, scope);
  }

  #joined(joined: unknown, sink: Sink, scope: Scope): void {
    const { relation, joins } = node(joined);
    this.#relation(relation, sink, scope);
    for (const { relation: other, ...rest } of list(joins).map(node)) {
      this.#relation(other, sink, scope);
      this.#within(rest, scope);
    }
  }

  #relation(relation: unknown, sink: Sink, scope: Scope): void {
    const [variant, body] = variantOf(relation);
    const { name, subquery, table_with_joins, alias: _, ...rest } = node(body);
    if (variant === 'Table') {
      if (isNothing(rest['args'])) this.#name(name, sink, scope);
      else this.#function(name);
    } else if (variant === 'Derived') this.#query(node(subquery), scope);
    else if (variant === 'NestedJoin') this.#joined(table_with_joins, sink, scope);
    else if (variant === 'Function') this.#function(name);
    else if (variant !== 'UNNEST' && variant !== 'JsonTable') throw new Unsure(variant);
    this.#within(rest, scope);
  }

  /** Expressions and whatever else may hold queries and calls of functions. */
  #within(value: unknown, scope: Scope): void {
    if (Array.isArray(value)) for (const item of value) this.#within(item, scope);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return;
    if ('body' in value && 'pipe_operators' in value) {
      this.#query(value as Node, scope);
      return;
    }
    for (const [member, inner] of Object.entries(value)) {
      if (member === 'Function') this.#function(node(inner)['name']);
      else if (member === 'statement') this.#statement(inner, scope);
      else if (member === 'PGCustomBinaryOperator') this.#functions.add(`operator ${list(inner).join('.')}`);
      else if (member === 'relation' || (member === 'Table' && !('table_name' in node(inner))))
        throw new Unsure(member);
      if (inner === 'Assignment') this.#kinds.add('set');
      if (member !== 'statement') this.#within(inner, scope);
    }
  }

  /** Every name of a statement that is no query: it may be read and written. */
  #names(value: unknown): void {
    if (Array.isArray(value)) {
      if (
        value.length > 0 &&
        value.every((part) => typeof part === 'object' && part !== null && 'Identifier' in part)
      ) {
        this.#name(value, 'writes');
        this.#name(value, 'reads');
      } else for (const item of value) this.#names(item);
    } else if (typeof value === 'object' && value !== null && !('pipe_operators' in value))
      for (const inner of Object.values(value)) this.#names(inner);
  }

  #name(name: unknown, sink: Sink, scope: Scope = new Set()): void {
    const parts = this.#parts(name);
    const [only = ''] = parts;
    if (parts.length === 1 && sink === 'reads' && scope.has(only)) return;
    if (parts.length === 1 && NO_TABLES.has(only.toLowerCase())) throw new Unsure(only);
    (sink === 'reads' ? this.#reads : this.#writes).add(parts.join('.'));
  }

  #function(name: unknown): void {
    const parts = this.#parts(name).map((part) => part.toLowerCase());
    if (parts.length > 1 || !HARMLESS_FUNCTIONS.has(parts[0] ?? '')) this.#functions.add(parts.join('.'));
  }

  #parts(name: unknown): string[] {
    const parts = list(name).map((part) => this.#identifier(node(part)['Identifier']));
    if (parts.length === 0) throw new Unsure('a name without parts');
    return parts;
  }

  /** A name as the server knows it: PostgreSQL has small letters for what is not quoted. */
  #identifier(identifier: unknown): string {
    const { value, quote_style } = node(identifier);
    if (typeof value !== 'string' || value === '' || value.includes('.')) throw new Unsure('a name with dots');
    return this.#dialect === 'postgresql' && isNothing(quote_style) ? value.toLowerCase() : value;
  }
}

/** The parser's trees have a node's kind as its only member; those without content are plain texts. */
function variantOf(value: unknown): readonly [string, unknown] {
  if (typeof value === 'string') return [value, {}];
  const [only, ...more] = Object.entries(node(value));
  if (only === undefined || more.length > 0) throw new Unsure('a node of no kind');
  return only;
}

function node(value: unknown): Node {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Unsure('no node');
  return value as Node;
}

function list(value: unknown): readonly unknown[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw new Unsure('no list');
  return value;
}

function isNothing(value: unknown): boolean {
  return value === undefined || value === null || value === false || (Array.isArray(value) && value.length === 0);
}
