import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { measureProcess } from '../../bench/measure-process.ts';

const node = process.execPath;
const MIB = 1024 * 1024;

test('the exit code, the streams and the wall time of the process are given', async () => {
  const script = `process.stdout.write('out'); process.stderr.write('err'); setTimeout(() => process.exit(3), 200)`;
  const measure = await measureProcess({ argv: [node, '-e', script] });
  expect({ ...measure, wall_ms: 0, peak_rss_bytes: 0, cpu_ms: 0, samples: 0 }).toEqual({
    exit_code: 3,
    exit_signal: null,
    wall_ms: 0,
    peak_rss_bytes: 0,
    cpu_ms: 0,
    samples: 0,
    stdout: 'out',
    stderr: 'err',
    dropped_bytes: 0,
  });
  expect(measure.wall_ms).toBeGreaterThanOrEqual(200);
  expect(measure.samples).toBeGreaterThanOrEqual(2);
});

test('memory and CPU time of a grandchild count, though its parent idles', async () => {
  const busy = `const held = Buffer.alloc(200 * ${MIB}, 1); const end = performance.now() + 600; while (performance.now() < end) held[0] += 1`;
  const script = `require('node:child_process').spawnSync(process.execPath, ['-e', ${JSON.stringify(busy)}])`;
  const measure = await measureProcess({ argv: ['sh', '-c', '"$@"; sleep 0.2', 'sh', node, '-e', script] });
  const idle = await measureProcess({ argv: ['sh', '-c', '"$@"; sleep 0.2', 'sh', node, '-e', '0'] });
  expect(measure.peak_rss_bytes).toBeGreaterThan(200 * MIB);
  expect(measure.peak_rss_bytes).toBeLessThan(500 * MIB);
  expect(idle.peak_rss_bytes).toBeLessThan(200 * MIB);
  expect(measure.cpu_ms).toBeGreaterThan(idle.cpu_ms + 200); // 600 ms of work on a machine that is shared
});

test('of a long output the end is kept and the rest counted', async () => {
  const measure = await measureProcess({
    argv: [node, '-e', `process.stdout.write('a'.repeat(${MIB}) + 'end')`],
    capture_bytes: 1000,
  });
  expect({ stdout: measure.stdout, dropped: measure.dropped_bytes }).toEqual({
    stdout: `${'a'.repeat(997)}end`,
    dropped: MIB + 3 - 1000,
  });
});

test('a process that outlives its time is ended with what it started', async () => {
  const script = `const { pid } = require('node:child_process').spawn('sleep', ['600']); console.log(pid); setInterval(() => {}, 1000)`;
  const signal = new AbortController();
  const late = measureProcess({ argv: [node, '-e', script], timeout_ms: 300 });
  await expect(late).rejects.toMatchObject({
    name: 'TimeoutError',
    message: expect.stringContaining('did not end within 300 ms'),
  });
  const aborted = measureProcess({ argv: ['sleep', '600'], signal: signal.signal });
  signal.abort(new Error('enough'));
  await expect(aborted).rejects.toThrow('enough');
});

test('what the process leaves running is ended with it', async () => {
  const measure = await measureProcess({ argv: ['sh', '-c', 'sleep 600 & echo $!'] });
  const left = Number(measure.stdout);
  expect(left).toBeGreaterThan(1);
  await expect.poll(() => stateOf(left)).toMatch(/gone|Z/);
});

test('a program that is not there is named', async () => {
  await expect(measureProcess({ argv: ['no-such-program'] })).rejects.toThrow('`no-such-program` could not be started');
});

/** The letter of the process's state in /proc; Z is ended, and only its parent has not asked for it yet. */
function stateOf(pid: number): string {
  return existsSync(`/proc/${pid}`) ? (readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1]?.[0] ?? '') : 'gone';
}
