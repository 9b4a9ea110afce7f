import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { hasProcessTable, processRows } from '../../src/lib/proc-table.ts';
import { runProcess } from '../../src/lib/process.ts';
import { ProcessFamily } from '../../src/lib/process-family.ts';

const MB = 1024 * 1024;
const env = { PATH: process.env['PATH'] ?? '/usr/bin:/bin' };
let folder = '';

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'proctor-family-'));
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

/** Runs a script of the shell as a family, and ends it. */
async function run(script: string, memoryBytes: number | null = null) {
  const family = new ProcessFamily(memoryBytes);
  const result = await runProcess(['sh', '-c', script], { cwd: folder, env: { ...env, ...family.environment } });
  await family.end();
  return { ...result, over_memory: family.overMemory };
}

/** Commands that write their pid to a file and stay. */
const STAY = `sh -c 'echo $$ >> pids; exec sleep 86399'`;
/** Waits until so many have written it. */
const waitFor = (count: number) => `while [ "$(cat pids 2>/dev/null | wc -l)" -lt ${count} ]; do sleep 0.01; done`;

const left = () => {
  const pids = readFileSync(join(folder, 'pids'), 'utf8').trim().split('\n').map(Number);
  return [...processRows()].filter(({ pid }) => pids.includes(pid)).map(({ pid }) => pid);
};

describe.runIf(hasProcessTable)('what a process started', () => {
  it.each([
    ['in its group', `${STAY} & ${waitFor(1)}`],
    ['in a session of its own', `setsid ${STAY} & ${waitFor(1)}`],
    ['by a parent that has ended', `(setsid ${STAY} &) ; ${waitFor(1)}`],
    ['twice removed', `setsid sh -c "setsid ${STAY.replaceAll('$', '\\$')} &" & ${waitFor(1)}`],
    ['many times', `for i in 1 2 3 4 5 6 7 8 9 10; do setsid ${STAY} & done; ${waitFor(10)}`],
    ['with its output held', `setsid ${STAY} 2>&1 & ${waitFor(1)}; echo out`],
  ])('%s ends with it', async (_, script) => {
    expect(await run(script)).toMatchObject({ reason: 'exit', exit_code: 0 });
    expect(left()).toEqual([]);
  });

  it('ends although it cleared its environment, when it was seen with its parent', async () => {
    const script = `env -i PATH="$PATH" setsid ${STAY} & ${waitFor(1)}; while [ ! -e seen ]; do sleep 0.01; done`;
    const family = new ProcessFamily();
    const running = runProcess(['sh', '-c', script], { cwd: folder, env: { ...env, ...family.environment } });
    await expect.poll(() => existsSync(join(folder, 'pids')) && left().length, { interval: 10 }).toBe(1);
    family.weigh([...processRows()]); // a look, as a limit of memory takes ten a second
    await writeFile(join(folder, 'seen'), '');
    expect(await running).toMatchObject({ exit_code: 0 });
    expect(left()).toHaveLength(1);
    await family.end();
    expect(left()).toEqual([]);
  });

  it('ends although each link of it starts another and goes', async () => {
    const link = `'N=$((N+1)); [ $N -lt 2000 ] || exit; echo $$ >> pids; sleep 0.01; setsid sh -c "$LINK" &'`;
    await run(`LINK=${link}; N=0; export LINK N; setsid sh -c "$LINK" & ${waitFor(3)}`);
    const pids = readFileSync(join(folder, 'pids'), 'utf8');
    expect(left()).toEqual([]);
    expect(readFileSync(join(folder, 'pids'), 'utf8'), 'no link follows').toBe(pids);
  });

  it('is another’s to end when another process started it', async () => {
    const other = new ProcessFamily();
    const running = runProcess(['sh', '-c', STAY], {
      cwd: folder,
      env: { ...env, ...other.environment },
      timeout_ms: 60_000,
    });
    await expect.poll(() => existsSync(join(folder, 'pids')) && left().length, { interval: 10 }).toBe(1);
    expect(await run('true')).toMatchObject({ exit_code: 0 });
    expect(left()).toHaveLength(1);
    await other.end();
    await running;
    expect(left()).toEqual([]);
  });
});

describe.runIf(hasProcessTable)('the memory of a family', () => {
  const node = (code: string) => `"${process.execPath}" -e '${code}'`;
  const take = (mb: number) => `const b = Buffer.alloc(${mb} * 1048576, 1); setInterval(() => b.fill(2), 50)`;

  it.each([
    ['of one process', node(take(400))],
    ['that grows', node('const a = []; setInterval(() => a.push(Buffer.alloc(20 * 1048576, 1)), 20)')],
    ['of several, none of which takes too much', `${[1, 2, 3, 4].map(() => `${node(take(90))} &`).join(' ')} wait`],
    ['of one that left the group', `setsid ${node(take(400))} & wait`],
  ])('%s is bounded', async (_, script) => {
    expect(await run(script, 256 * MB)).toMatchObject({ over_memory: true, signal: 'SIGKILL' });
  });

  it('may be all that is allowed', async () => {
    const script = node('const b = Buffer.alloc(100 * 1048576, 1); setTimeout(() => b.fill(2), 400)');
    expect(await run(script, 256 * MB)).toMatchObject({ over_memory: false, exit_code: 0 });
  });
});

it('a family ends once, and one that started nothing ends too', async () => {
  const family = new ProcessFamily();
  await family.end();
  await family.end();
  expect(process.listeners('exit').filter(({ name }) => name === 'killAllNow')).toEqual([]);
});
