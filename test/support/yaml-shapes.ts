const lines = (n: number, line: (index: number) => string) => Array.from({ length: n }, (_, i) => line(i)).join('');

/** Texts that took minutes where a step looked at all the others; each is read well within the limit against hangs. */
export const SHAPES: Readonly<Record<string, () => string>> = {
  'a map of many keys': () => lines(100_000, (i) => `k${i}: 1\n`),
  'a flow map of many keys': () => `{${lines(60_000, (i) => `k${i}: 1, `)}}`,
  'a map of explicit keys': () => lines(30_000, (i) => `? k${i}\n: 1\n`),
  'one key over and over': () => 'k: 1\n'.repeat(50_000),
  'maps within maps': () =>
    lines(150, (depth) => lines(200, (i) => `${' '.repeat(depth)}k${i}: 1\n`).concat(' '.repeat(depth), 'n:\n')),
  'anchors, each used once': () => lines(40_000, (i) => `- &a${i} x\n- *a${i}\n`),
  'one anchor used often': () => `- &a x\n${'- *a\n'.repeat(50_000)}`,
  'anchors that grow tenfold': () => `- &a0 [x]\n${lines(12, (i) => `- &a${i + 1} [${`*a${i}, `.repeat(10)}]\n`)}`,
  'an anchor within itself': () => '&a [*a, *a]\n',
  'collections as keys': () => '? '.repeat(1_000),
  'flow collections as keys': () => `${'{ '.repeat(800)}x${' }'.repeat(800)}: 1\n`,
  'lists within lists': () => '['.repeat(50_000),
  'dashes within dashes': () => '- '.repeat(50_000),
  'many documents': () => '---\na\n'.repeat(100_000),
  'many comments': () => `a:\n${'  # c\n'.repeat(100_000)}  b: 1\n`,
  'many directives': () => `${'%X y\n'.repeat(30_000)}---\na\n`,
  'empty lines': () => `${'\n'.repeat(200_000)}a: 1\n`,
  'one long text': () => `a: ${'x'.repeat(4_000_000)}\n`,
  'one long text in lines': () => `a: >\n${'  y\n'.repeat(300_000)}`,
  'one long number': () => `a: ${'1'.repeat(1_000_000)}\n`,
  'quotes that end nowhere': () => `a: "${'x\n '.repeat(200_000)}`,
  'many mistakes': () => 'a: b: c\n'.repeat(50_000),
  'closing brackets': () => ']'.repeat(50_000),
  'unknown tags': () => '- !x x\n'.repeat(50_000),
};
