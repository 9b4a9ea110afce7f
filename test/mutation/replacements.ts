/** A node of the syntax tree; positions are offsets into the text. */
export interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [member: string]: unknown;
}

/** What a node is replaced by: `code` goes into the file, `now` into the report. */
export interface Replacement {
  readonly kind: string;
  readonly start: number;
  readonly end: number;
  readonly code: string;
  readonly now: string;
}

/** Everything that a node of the text may be replaced by. */
export function replacementsOf(node: Node, text: string): Replacement[] {
  const make = MAKERS[node.type];
  return make === undefined ? [] : make(node, text);
}

type Maker = (node: Node, text: string) => Replacement[];

const source = (node: Node, text: string) => text.slice(node.start, node.end);
const whole = (node: Node, kind: string, code: string, now = code): Replacement => ({
  kind,
  start: node.start,
  end: node.end,
  code,
  now,
});

/** What each operator may be mistaken for. */
const OPERATORS: Readonly<Record<string, readonly string[]>> = {
  '+': ['-'],
  '-': ['+'],
  '*': ['/'],
  '/': ['*'],
  '%': ['*'],
  '**': ['*'],
  '<': ['<=', '>='],
  '>': ['>=', '<='],
  '<=': ['<', '>'],
  '>=': ['>', '<'],
  '===': ['!=='],
  '!==': ['==='],
  '==': ['!='],
  '!=': ['=='],
  '&': ['|'],
  '|': ['&'],
  '^': ['&'],
  '<<': ['>>'],
  '>>': ['<<'],
  '>>>': ['<<'],
  '&&': ['||'],
  '||': ['&&'],
  '??': ['&&'],
};
const ASSIGNMENTS: Readonly<Record<string, string>> = {
  '+=': '-=',
  '-=': '+=',
  '*=': '/=',
  '/=': '*=',
  '%=': '*=',
  '<<=': '>>=',
  '>>=': '<<=',
  '>>>=': '<<=',
  '&=': '|=',
  '|=': '&=',
  '^=': '&=',
  '&&=': '||=',
  '||=': '&&=',
  '??=': '&&=',
};
const CONDITIONS = new Set(['<', '>', '<=', '>=', '===', '!==', '==', '!=', 'in', 'instanceof', '&&', '||']);

/** Methods with the one that they may be mistaken for; null: the call may be missing. */
const METHODS: Readonly<Record<string, string | null>> = {
  startsWith: 'endsWith',
  endsWith: 'startsWith',
  some: 'every',
  every: 'some',
  min: 'max',
  max: 'min',
  floor: 'ceil',
  ceil: 'floor',
  find: 'findLast',
  findIndex: 'findLastIndex',
  indexOf: 'lastIndexOf',
  toLowerCase: 'toUpperCase',
  toUpperCase: 'toLowerCase',
  trimStart: 'trimEnd',
  trimEnd: 'trimStart',
  filter: null,
  reverse: null,
  slice: null,
  sort: null,
  toReversed: null,
  toSorted: null,
  trim: null,
};

const MAKERS: Readonly<Record<string, Maker>> = {
  BinaryExpression: operators,
  LogicalExpression: operators,
  AssignmentExpression: (node, text) => {
    const other = ASSIGNMENTS[String(node['operator'])];
    if (other === undefined) return [];
    const [left, right] = [node['left'] as Node, node['right'] as Node];
    return [whole(node, 'assignment', `${source(left, text)} ${other} ${source(right, text)}`)];
  },
  UpdateExpression: (node, text) => [
    whole(
      node,
      'update',
      source(node, text).replace(/\+\+|--/, (sign) => (sign === '++' ? '--' : '++')),
    ),
  ],
  UnaryExpression: (node, text) => {
    const argument = source(node['argument'] as Node, text);
    if (node['operator'] === '!') return [whole(node, 'negation', `(${argument})`, argument)];
    if (node['operator'] === '-') return [whole(node, 'sign', `(+${argument})`, `+${argument}`)];
    return [];
  },
  Literal: literals,
  TemplateLiteral: (node) => ((node['quasis'] as Node[]).length > 0 ? [whole(node, 'string', '``')] : []),
  ArrayExpression: (node) => [whole(node, 'array', (node['elements'] as Node[]).length > 0 ? '[]' : '["mutated"]')],
  ObjectExpression: (node) => ((node['properties'] as Node[]).length > 0 ? [whole(node, 'object', '({})', '{}')] : []),
  BlockStatement: (node) => ((node['body'] as Node[]).length > 0 ? [whole(node, 'block', '{}')] : []),
  ArrowFunctionExpression: (node) => {
    const body = node['body'] as Node;
    return body.type === 'BlockStatement' ? [] : [whole(body, 'arrow', 'undefined')];
  },
  IfStatement: tested,
  ConditionalExpression: tested,
  ForStatement: looped,
  WhileStatement: looped,
  DoWhileStatement: looped,
  MemberExpression: optional,
  CallExpression: (node, text) => [...optional(node, text), ...calls(node, text)],
};

function operators(node: Node, text: string): Replacement[] {
  const operator = String(node['operator']);
  const [left, right] = [node['left'] as Node, node['right'] as Node];
  const found = CONDITIONS.has(operator) ? truths(node) : [];
  if (operator === '+' && [left, right].some(isText)) return found;
  const [a, b] = [source(left, text), source(right, text)];
  const others = OPERATORS[operator] ?? [];
  return [
    ...found,
    ...others.map((other) => whole(node, 'operator', `((${a}) ${other} (${b}))`, `${a} ${other} ${b}`)),
  ];
}

function truths(node: Node): Replacement[] {
  return [whole(node, 'condition', 'true'), whole(node, 'condition', 'false')];
}

function tested(node: Node): Replacement[] {
  return truths(bare(node['test'] as Node));
}

/** A loop whose test is always true would not end: that says nothing. */
function looped(node: Node): Replacement[] {
  const test = node['test'] as Node | null;
  return test === null ? [] : [whole(bare(test), 'condition', 'false')];
}

function bare(node: Node): Node {
  return node.type === 'ParenthesizedExpression' ? bare(node['expression'] as Node) : node;
}

function isText(node: Node): boolean {
  return node.type === 'TemplateLiteral' || (node.type === 'Literal' && typeof node['value'] === 'string');
}

function literals(node: Node, text: string): Replacement[] {
  const { value } = node;
  if (typeof value === 'boolean') return [whole(node, 'boolean', String(!value))];
  // A number too large to have a next one stays as it is.
  if (typeof value === 'number') return value + 1 === value ? [] : [whole(node, 'number', String(value + 1))];
  if (typeof value === 'bigint') return [whole(node, 'number', `${value + 1n}n`)];
  if (typeof value === 'string') return [whole(node, 'string', value === '' ? '"mutated"' : '""')];
  const regex = node['regex'] as { pattern: string; flags: string } | undefined;
  if (regex === undefined) return [];
  return patterns(regex.pattern)
    .map((pattern) => `/${pattern}/${regex.flags}`)
    .filter((code) => code !== source(node, text))
    .map((code) => whole(node, 'pattern', code));
}

/** A pattern without an anchor or repetition, or with a class turned into its opposite. */
function patterns(pattern: string): string[] {
  const found: string[] = [];
  let inClass = false;
  for (const { 0: token, index } of pattern.matchAll(/\\[pP]\{[^}]*\}|\\u\{[^}]*\}|\\.|\[\^?|\(\?[:=!<]*|[\s\S]/gu)) {
    const replace = (by: string) => found.push(pattern.slice(0, index) + by + pattern.slice(index + token.length));
    if (/^\\[dDwWsSpP]/.test(token)) replace(`\\${flipped(token.charAt(1))}${token.slice(2)}`);
    if (inClass) inClass = token !== ']';
    else if (token.startsWith('[')) {
      inClass = true;
      replace(token === '[' ? '[^' : '[');
    } else if (/^[$^+*?]$/.test(token)) replace('');
  }
  return found;
}

function flipped(letter: string): string {
  return letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase();
}

/** `a?.b` becomes `a.b`. */
function optional(node: Node, text: string): Replacement[] {
  if (node['optional'] !== true) return [];
  const before = ((node['object'] ?? node['callee']) as Node).end;
  const rest = text.slice(before, node.end);
  const direct = rest.replace('?.', /^\s*\?\.[[(]/.test(rest) ? '' : '.');
  return [whole(node, 'optional', text.slice(node.start, before) + direct)];
}

function calls(node: Node, text: string): Replacement[] {
  const callee = node['callee'] as Node;
  const name = (callee['property'] as Node | undefined)?.['name'];
  if (callee.type !== 'MemberExpression' || callee['computed'] === true || typeof name !== 'string') return [];
  if (!Object.hasOwn(METHODS, name)) return [];
  const other = METHODS[name];
  const object = callee['object'] as Node;
  if (typeof other !== 'string') return [whole(node, 'method', `(${source(object, text)})`, source(object, text))];
  const property = callee['property'] as Node;
  const code = text.slice(node.start, property.start) + other + text.slice(property.end, node.end);
  return [whole(node, 'method', code)];
}
