import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { type ESTree, parseSync, Visitor } from 'rolldown/utils';

/**
 * Finds tests that hold a machine to a speed. A test that passes on a quiet machine and fails on a busy one says nothing about the code:
 * tests tell no time, assert no upper bound of a duration, and set no limit of their own. `bench/` measures, with a bar for each figure.
 */
export function timedAssertionsIn(root: string): string[] {
  return globSync('test/**/*.ts', { cwd: root })
    .sort()
    .flatMap((file) => timedAssertions(file, readFileSync(path.join(root, file), 'utf8')));
}

/** What is timed in one file of the tests, as `file:line what is wrong`. */
export function timedAssertions(file: string, source: string): string[] {
  const found: { readonly at: number; readonly what: string }[] = [];
  const { program } = parseSync(file, source);
  const add = (node: ESTree.Node, what: string) => void found.push({ at: node.start, what });
  const mayTellTime = CLOCKS.has(file);
  new Visitor({
    MemberExpression(node) {
      if (!mayTellTime && tellsTime(node)) add(node, TELLS_TIME);
    },
    NewExpression(node) {
      if (!mayTellTime && nameOf(node.callee) === 'Date' && node.arguments.length === 0) add(node, TELLS_TIME);
    },
    ImportDeclaration(node) {
      if (!mayTellTime && node.source.value.endsWith('perf_hooks')) add(node, TELLS_TIME);
    },
    CallExpression(node) {
      if (limitOf(node)) add(node, 'sets a limit of its own; the one against hangs stands in vitest.config.ts');
      if (boundsDuration(node)) add(node, 'asserts an upper bound of a duration; measure it in bench/');
    },
  }).visit(program);
  return found.map(({ at, what }) => `${file}:${source.slice(0, at).split('\n').length} ${what}`);
}

const TELLS_TIME = 'tells the time; wait with test/support/waiting.ts, or measure in bench/';

/** Those that may look at a clock: to wait, to pace what they do, or to say in a report how long it took. */
const CLOCKS = new Set([
  'test/support/waiting.ts',
  'test/support/built-package.ts', // how old a build is
  'test/support/chaos-bad-agent.ts', // when it was asked
  'test/support/chaos-supervisor.ts', // the beat of the kills
  'test/support/chaos-soak.ts',
  'test/support/gateway-kill.ts',
  'test/support/store-seeded.ts', // instants of what it writes
  'test/support/store-worker-process.ts', // measured by bench/rows/sharing.ts
  'test/store/postgres/spike-chaos.ts',
  'test/mutation/run.ts', // what a mutant may take, against what its tests take
  'test/mutation/worker.ts',
  'test/attack/run.ts', // a seed, and how long each part took
  'test/chaos/soak.ts', // a seed
  'test/chaos/approval-kill.ts', // a seed
]);

const CLOCK_MEMBERS: Readonly<Record<string, RegExp>> = {
  performance: /./,
  Date: /^now$/,
  process: /^(hrtime|uptime|cpuUsage|threadCpuUsage)$/,
  console: /^time/,
  Temporal: /^Now$/,
};

function tellsTime(node: ESTree.MemberExpression): boolean {
  if (node.computed) return false;
  return CLOCK_MEMBERS[nameOf(node.object) ?? '']?.test(node.property.name) === true;
}

const TESTS = /^(test|it|describe|suite|bench|beforeAll|beforeEach|afterAll|afterEach)$/;

/** `test(…, { timeout })`, `test(…, work, 500)` and the like, on whatever is chained; `expect.poll(…, { timeout })`, `vi.waitFor`. */
function limitOf({ callee, arguments: given }: ESTree.CallExpression): boolean {
  const chain = chainOf(callee);
  const waits =
    (chain[0] === 'expect' && chain.includes('poll')) || (chain[0] === 'vi' && /^waitF|^waitU/.test(chain[1] ?? ''));
  if (!waits && !TESTS.test(chain[0] ?? '')) return false;
  const last = given.at(-1);
  if (!waits && given.length > 1 && last?.type === 'Literal' && typeof last.value === 'number') return true;
  return given.some(
    (one) =>
      one.type === 'ObjectExpression' &&
      one.properties.some((property) => property.type === 'Property' && nameOf(property.key) === 'timeout'),
  );
}

const UPPER = /^toBeLessThan(OrEqual)?$/;
const DURATION =
  /(^|_)(ms|millis|secs?|seconds|duration|elapsed|took|waited|stall|latency|blocked)$|(Ms|Duration|Elapsed|Latency|Seconds)$/;

/** `expect(duration).toBeLessThan(…)` or `expect(duration < …)`: by what the value is called, wherever it comes from. */
function boundsDuration(node: ESTree.CallExpression): boolean {
  if (nameOf(node.callee) === 'expect') return node.arguments.some(comparesDuration);
  if (node.callee.type !== 'MemberExpression' || node.callee.computed || !UPPER.test(node.callee.property.name))
    return false;
  let inner: ESTree.Node = node.callee.object;
  while (inner.type === 'MemberExpression') inner = inner.object; // .not, .resolves
  return inner.type === 'CallExpression' && inner.arguments.some(isDuration);
}

function comparesDuration(node: ESTree.Node): boolean {
  if (node.type !== 'BinaryExpression') return false;
  if (node.operator === '<' || node.operator === '<=') return isDuration(node.left);
  return (node.operator === '>' || node.operator === '>=') && isDuration(node.right);
}

/** Whether a value is called a duration, or is made of values that are. */
function isDuration(node: ESTree.Node): boolean {
  switch (node.type) {
    case 'Identifier':
      return DURATION.test(node.name);
    case 'Literal':
      return typeof node.value === 'string' && DURATION.test(node.value);
    case 'MemberExpression':
      return node.property.type === 'Identifier' || node.property.type === 'Literal'
        ? isDuration(node.property)
        : false;
    case 'CallExpression':
      return isDuration(node.callee) || node.arguments.some(isDuration);
    case 'BinaryExpression':
      return isDuration(node.left) || isDuration(node.right);
    case 'ChainExpression':
    case 'AwaitExpression':
    case 'TSNonNullExpression':
    case 'TSAsExpression':
      return isDuration(node.type === 'AwaitExpression' ? node.argument : node.expression);
    case 'LogicalExpression':
      return isDuration(node.left);
    case 'SpreadElement':
      return isDuration(node.argument);
    default:
      return false;
  }
}

function nameOf(node: ESTree.Node): string | null {
  if (node.type === 'Identifier') return node.name;
  return node.type === 'Literal' && typeof node.value === 'string' ? node.value : null;
}

/** `test.skipIf(x).each(y)` as test, skipIf, each. */
function chainOf(node: ESTree.Node): string[] {
  if (node.type === 'MemberExpression') return [...chainOf(node.object), nameOf(node.property) ?? ''];
  if (node.type === 'CallExpression') return chainOf(node.callee);
  if (node.type === 'TaggedTemplateExpression') return chainOf(node.tag);
  return [nameOf(node) ?? ''];
}
