import type { Profiler } from 'node:inspector';

type Node = Profiler.ProfileNode;

/** Self time by what the code is for, as shares of the busy time, largest first. A native function counts for the module function that called it. */
export function groupedSelfTime(profile: Profiler.Profile): [string, number][] {
  const parents = parentsOf(profile);
  return shares(profile, (node) => groupOf(node, parents));
}

/** The functions with most self time, as shares of the busy time, with the caller of native ones. */
export function topFunctions(profile: Profiler.Profile, top: number): [string, number][] {
  const parents = parentsOf(profile);
  return shares(profile, (node) => nameOf(node, parents)).slice(0, top);
}

function shares(profile: Profiler.Profile, key: (node: Node) => string): [string, number][] {
  const ticks = new Map<string, number>();
  let busy = 0;
  for (const node of profile.nodes) {
    const hits = node.hitCount ?? 0;
    if (hits === 0 || ['(idle)', '(root)'].includes(node.callFrame.functionName)) continue;
    busy += hits;
    const name = key(node);
    ticks.set(name, (ticks.get(name) ?? 0) + hits);
  }
  return [...ticks]
    .map(([name, hits]): [string, number] => [name, hits / busy])
    .sort((left, right) => right[1] - left[1]);
}

function parentsOf(profile: Profiler.Profile): Map<number, Node> {
  const parents = new Map<number, Node>();
  for (const node of profile.nodes) for (const child of node.children ?? []) parents.set(child, node);
  return parents;
}

const GROUPS: readonly (readonly [string, RegExp])[] = [
  ['store (TypeScript)', /\/src\/store\//],
  ['hashing and its input', /\/src\/core\/(evidence|merkle)\.ts/],
  ['canonical JSON', /\/src\/lib\/canonical-json\.ts/],
  ['verdict and statistics', /\/src\/core\/(verdict|tally|statistics)/],
  ['aggregate', /\/src\/core\//],
  [
    'signals and timers',
    /\/src\/lib\/(abort|clock)\.ts|node:internal\/(timers|abort_controller|event_target)|node:timers/,
  ],
  ['redaction', /\/src\/(lib\/secrets|adapters\/transport\/redact)/],
  ['evaluator', /\/src\/adapters\/evaluators\//],
  ['agent', /\/src\/adapters\/agents\/|\/src\/contract\/agent/],
  ['engine', /\/src\/(engine|lib)\//],
];

function groupOf(node: Node, parents: ReadonlyMap<number, Node>): string {
  const { functionName, url } = node.callFrame;
  if (functionName === '(garbage collector)') return 'garbage collection';
  if (functionName === '(program)') return 'runtime (program)';
  if (url === '' && ['run', 'get', 'all', 'exec'].includes(functionName))
    return functionName === 'exec' ? 'SQLite: begin, commit' : 'SQLite: statements';
  for (let at: Node | undefined = node; at !== undefined; at = parents.get(at.id)) {
    const found = GROUPS.find(([, pattern]) => pattern.test(at?.callFrame.url ?? ''));
    if (found) return url.startsWith('node:') && !/crypto|timers|abort|event/.test(url) ? 'node internals' : found[0];
  }
  return 'other';
}

function nameOf(node: Node, parents: ReadonlyMap<number, Node>): string {
  const { functionName, url, lineNumber } = node.callFrame;
  const own = `${functionName || '(anonymous)'}${url === '' ? '' : ` ${short(url)}:${lineNumber + 1}`}`;
  if (url !== '' && !url.startsWith('node:')) return own;
  const callers: string[] = [];
  for (let at = parents.get(node.id); at !== undefined && callers.length < 2; at = parents.get(at.id)) {
    const frame = at.callFrame;
    if (frame.url.includes('/connection.ts') || frame.url === '' || frame.url.startsWith('node:')) continue;
    callers.push(`${frame.functionName || '(anonymous)'} ${short(frame.url)}`);
  }
  return callers.length === 0 ? own : `${own} ← ${callers.join(' ← ')}`;
}

function short(url: string): string {
  return url.split('/').slice(-2).join('/');
}
