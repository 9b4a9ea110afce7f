import path from 'node:path';
import { expect, test } from 'vitest';
import { timedAssertions, timedAssertionsIn } from '../scripts/timed-assertions.ts';

const ROOT = path.resolve(import.meta.dirname, '..');
const lines = (source: string) => timedAssertions('test/some.test.ts', source);

test('no test holds a machine to a speed', () => {
  expect(timedAssertionsIn(ROOT)).toEqual([]);
});

test.each([
  'const started = performance.now();',
  'const before = performance.eventLoopUtilization();',
  'performance.mark("a");',
  'const now = Date.now();',
  'const now = new Date();',
  'const now = process.hrtime.bigint();',
  'const now = process.hrtime();',
  'process.threadCpuUsage();',
  'console.time("x");',
  "import { monitorEventLoopDelay } from 'node:perf_hooks';",
  "import { performance as p } from 'perf_hooks';",
])('a clock is found: %s', (source) => {
  expect(lines(source)).toEqual([expect.stringMatching(/^test\/some\.test\.ts:1 tells the time/)]);
});

test.each([
  'expect(elapsed).toBeLessThan(5);',
  'expect(run.duration_ms).toBeLessThan(30_000);',
  'expect(run?.duration_ms).toBeLessThanOrEqual(30_000);',
  "expect(document['demo_ms']).toBeLessThan(60_000);",
  'expect(Math.max(...waits_ms)).toBeLessThan(5);',
  "expect(most('longest_wait_ms')).toBeLessThan(LEASE / 3);",
  'expect(stall()).toBeLessThan(100);',
  'expect(end_ms - start_ms).toBeLessThan(100);',
  'expect(durationMs, "it took long").toBeLessThan(100);',
  'expect(took).not.toBeLessThan(100);',
  'await expect(elapsed).resolves.toBeLessThan(100);',
  'expect(took < 100).toBe(true);',
  'expect(100 >= run.latency_ms!).toBe(true);',
])('an upper bound of a duration is found: %s', (source) => {
  expect(lines(`\n${source}`)).toEqual([expect.stringMatching(/^test\/some\.test\.ts:2 asserts an upper bound/)]);
});

test.each([
  "test('x', { timeout: 500 }, async () => {});",
  "test('x', async () => {}, 500);",
  "it.each([1])('x', { timeout: 5 }, () => {});",
  "test.skipIf(a).each(b)('x', () => {}, 30_000);",
  "describe('x', { timeout: 5 }, () => {});",
  'beforeAll(async () => {}, 1000);',
  'await expect.poll(() => 1, { timeout: 3 }).toBe(1);',
  'await vi.waitFor(() => 1, { timeout: 3 });',
])('a limit of its own is found: %s', (source) => {
  expect(lines(source)).toEqual([expect.stringMatching(/^test\/some\.test\.ts:1 sets a limit of its own/)]);
});

test.each([
  'expect(text.length).toBeLessThan(500);',
  'expect(run.duration_ms).toBeGreaterThanOrEqual(1_000);',
  'expect(a_ms > 5).toBe(true);',
  'const at = new Date(0);',
  'const at = systemClock.now();',
  "test('x', async () => {});",
  "const answer = await call('x', { timeout: 500 });",
  'const text = `performance.now()`;',
  'await expect.poll(() => 1, { interval: 3 }).toBe(1);',
])('what says nothing of speed is left alone: %s', (source) => {
  expect(lines(source)).toEqual([]);
});
