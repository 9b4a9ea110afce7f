import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it } from 'vitest';
import {
  type ModuleHost,
  type ModuleHostOptions,
  openModuleHost,
} from '../../../src/adapters/transport/module-host.ts';
import { ProctorError } from '../../../src/contract/problem.ts';

const fixtures = join(import.meta.dirname, 'fixtures');
const hosts: ModuleHost[] = [];
let printed = '';

afterEach(async () => {
  await Promise.all(hosts.splice(0).map((host) => host.close()));
  printed = '';
});

async function open(options: Partial<ModuleHostOptions> = {}): Promise<ModuleHost> {
  const output = (text: string) => {
    printed += text;
  };
  const host = await openModuleHost({
    path: join(fixtures, 'functions.ts'),
    export_name: 'behave',
    output,
    ...options,
  });
  hosts.push(host);
  return host;
}

const limits = (timeout_ms = 60_000, signal = new AbortController().signal) => ({ timeout_ms, signal });

describe('a module host', () => {
  it('calls the exported function of a TypeScript module and gives its value', async () => {
    const host = await open({ export_name: 'default' });
    expect(await host.call({ name: 'Ada' }, limits())).toEqual({ type: 'value', value: { hello: 'Ada' } });
  });

  it('finds a function in the exports of a CommonJS module', async () => {
    const host = await open({ path: join(fixtures, 'common.cjs'), export_name: 'run' });
    expect(await host.call(null, limits())).toEqual({ type: 'value', value: 'from common' });
  });

  it('runs calls at the same time in one thread', async () => {
    const host = await open();
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => host.call({ do: 'meet', all: 20 }, limits())));
    expect(outcomes).toEqual(Array.from({ length: 20 }, () => ({ type: 'value', value: 'met' })));
    expect(await host.call({ do: 'count' }, limits())).toEqual({ type: 'value', value: 21 });
  });

  it.each([
    ['missing.ts', 'default', /does not exist/],
    ['throws.mjs', 'default', /cannot start without a model/],
    ['exits.mjs', 'default', /process\.exit\(0\)/],
    ['loops.mjs', 'default', /did not load within 700 ms/],
    ['functions.ts', 'absent', /has no export `absent`; its exported functions are `behave`, `default`/],
    ['functions.ts', 'notFunction', /`notFunction` is not a function/],
  ])('refuses `%s#%s` when it is opened', async (file, export_name, message) => {
    const error = await open({
      path: join(fixtures, file),
      shown_path: file,
      export_name,
      load_timeout_ms: file === 'loops.mjs' ? 700 : 20_000,
    }).catch((caught: unknown) => caught);
    expect(ProctorError.is(error) && error.code).toBe('invalid_profile');
    expect((error as Error).message).toMatch(message);
    expect((error as Error).message).toContain(`the module \`${file}\` cannot be used`);
  });
});

it('refuses a module that is not JavaScript when it is opened', async () => {
  const error = await open({ path: join(import.meta.dirname, '../../../package.json') }).catch(
    (caught: unknown) => caught,
  );
  expect((error as Error).message).toMatch(/^the module `.*package\.json` cannot be used: .*json/);
});

describe('a call that fails by itself', () => {
  it.each([
    ['throw', 'went wrong'],
    ['throw_text', 'it threw something that is not an Error: only text'],
    ['exit', 'the module called process.exit(3); return or throw instead'],
    ['stray_rejection', 'nobody listens'],
    ['stray_exception', 'thrown in a timer'],
    ['function', 'the result holds a function at `/nested/1/bad`; JSON has no form for it'],
    ['bigint', 'the result holds a bigint at `/big`; JSON has no form for it'],
    ['nan', 'the result holds the number NaN at `/score`; JSON has no form for it'],
    ['map', 'the result holds a Map at `/at`; JSON has no form for it'],
    ['nothing', 'the result is undefined; return a value'],
    ['huge', 'the result is 5002 characters of JSON; the limit is 1000'],
  ])('is an error when it does `%s`, and its neighbour goes on', async (what, message) => {
    const host = await open({ max_result_bytes: 1_000 });
    const neighbour = host.call({ do: 'sleep', ms: 100 }, limits());
    const outcome = await host.call({ do: what }, limits());
    expect({ ...outcome, stack: null }).toEqual({ type: 'error', message, stack: null });
    expect(await neighbour).toEqual({ type: 'value', value: 'slept' });
    expect(await host.call({ do: 'count' }, limits())).toEqual({ type: 'value', value: 3 });
  });

  it('names a cycle', async () => {
    const host = await open();
    expect(await host.call({ do: 'circular' }, limits())).toMatchObject({
      type: 'error',
      message: expect.stringContaining('circular'),
    });
  });

  it('may leave members undefined and return dates', async () => {
    const host = await open();
    expect(await host.call({ do: 'absent_member' }, limits())).toEqual({
      type: 'value',
      value: { kept: 1, at: '1970-01-01T00:00:00.000Z' },
    });
  });

  it('is to blame for ending the thread; its neighbours only crashed with it', async () => {
    const host = await open();
    const neighbour = host.call({ do: 'never' }, limits());
    expect(await host.call({ do: 'really_exit' }, limits())).toEqual({
      type: 'error',
      message: "the module's thread exited with code 4",
      stack: null,
    });
    expect(await neighbour).toEqual({ type: 'crashed', message: "the module's thread exited with code 4" });
    expect(await host.call({ do: 'count' }, limits())).toEqual({ type: 'value', value: 1 });
  });

  it('cannot take more memory than the limit', async () => {
    const host = await open({ max_heap_mb: 32 });
    expect(await host.call({ do: 'memory' }, limits(20_000))).toMatchObject({
      type: 'error',
      message: expect.stringContaining('memory limit'),
    });
    expect(await host.call({ do: 'count' }, limits())).toEqual({ type: 'value', value: 1 });
  });
});

describe('a call over its time', () => {
  it('is told by its signal, does not disturb its neighbours, and later calls get a new thread', async () => {
    const host = await open();
    const neighbour = host.call({ do: 'sleep', ms: 500 }, limits());
    expect(await host.call({ do: 'until_cancelled' }, limits(100))).toEqual({ type: 'timeout' });
    expect(await host.call({ do: 'count' }, limits())).toEqual({ type: 'value', value: 1 });
    expect(await neighbour).toEqual({ type: 'value', value: 'slept' });
    expect(printed).toContain('cancelled: the time is up');
  });

  it.each(['loop', 'loop_later', 'loop_await'])(
    'is ended with its thread when it does `%s`, and the neighbour that had no turn crashed',
    async (what) => {
      const host = await open();
      const early = host.call({ do: 'sleep', ms: 300 }, limits(250)); // its time is up first, but it is not to blame
      const late = host.call({ do: 'sleep', ms: 300 }, limits());
      const guilty = host.call({ do: what }, limits(400));
      expect(await guilty).toEqual({ type: 'timeout' });
      expect((await early).type).toBe('crashed');
      expect((await late).type).toBe('crashed');
      expect(await host.call({ do: 'sleep', ms: 1 }, limits())).toEqual({ type: 'value', value: 'slept' });
    },
  );

  it('ends as soon as it is aborted, even in a loop', async () => {
    const host = await open();
    const controller = new AbortController();
    const looping = host.call({ do: 'loop' }, limits(60_000, controller.signal));
    setTimeout(() => controller.abort(new Error('the run was cancelled')), 50);
    expect(await looping).toEqual({ type: 'aborted' });
    expect(await host.call({ do: 'count' }, limits())).toEqual({ type: 'value', value: 1 });
  });

  it('ends when the host is closed', async () => {
    const host = await open();
    const looping = host.call({ do: 'loop' }, limits(60_000));
    await new Promise((turn) => setImmediate(turn));
    await host.close();
    expect(await looping).toEqual({ type: 'crashed', message: 'the module host was closed' });
    expect(await host.call({ do: 'count' }, limits())).toEqual({
      type: 'crashed',
      message: 'the module host is closed',
    });
  });
});

describe('what a module prints', () => {
  it('goes to the output, never to stdout, and is bounded', async () => {
    const script = `
      const { openModuleHost } = await import(${JSON.stringify(join(import.meta.dirname, '../../../src/adapters/transport/module-host.ts'))});
      const host = await openModuleHost({ path: ${JSON.stringify(join(fixtures, 'functions.ts'))}, export_name: 'behave', shown_path: 'functions.ts' });
      const limits = { timeout_ms: 10_000, signal: new AbortController().signal };
      await host.call({ do: 'print' }, limits);
      await host.call({ do: 'flood' }, limits);
      process.stdout.write(JSON.stringify(await host.call({ do: 'count' }, limits)));
      await host.close();`;
    const { stdout, stderr } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script]);
    expect(stdout).toBe('{"type":"value","value":3}');
    expect(stderr).toContain('printed on stdout\n');
    expect(stderr).toContain('printed on stderr\n');
    expect(stderr).toMatch(/\[further output of `functions\.ts` is dropped\]\n$/);
    expect(stderr.length).toBeLessThan(256 * 1024 + 100);
  });
});
