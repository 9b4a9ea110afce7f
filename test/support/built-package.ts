import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

/** The package as it is shipped, built from the sources of this moment. */
export interface BuiltPackage {
  /** What `bin/proctor` starts. */
  readonly main: string;
  /** The module that exports `runCli`. */
  readonly program: string;
  /** One of the programs of tests that are built beside it. */
  other(program: OtherProgram): string;
}

/** Programs of tests that are started often. */
type OtherProgram = keyof typeof OTHERS;
const OTHERS = {
  client: 'test/mcp/fixtures/client.ts',
  'crashing-publisher': 'test/support/crashing-publisher.ts',
  'gateway-kill-process': 'test/support/gateway-kill-process.ts',
} as const;
const PROGRAMS = ['src/cli/program.ts', ...Object.values(OTHERS)];

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const CACHE = path.join(ROOT, 'node_modules/.cache/proctor-test');
const KEPT_MS = 24 * 60 * 60_000;

/**
 * Builds the package where it is not there yet, and answers where it stands. A process of the package starts in less than half the time
 * of one from the sources; a folder is named by what it was built from, so every test file of the same sources shares one.
 */
export function builtPackage(): BuiltPackage {
  built ??= locate();
  return built;
}

let built: BuiltPackage | undefined;

function locate(): BuiltPackage {
  const folder = path.join(CACHE, digestOfSources());
  if (!existsSync(folder)) build(folder);
  return {
    main: path.join(folder, 'main.js'),
    program: path.join(folder, 'program.js'),
    other: (program) => path.join(folder, `${program}.js`),
  };
}

function digestOfSources(): string {
  const hash = createHash('sha256');
  const files = [...globSync('src/**/*.*', { cwd: ROOT }).sort(), ...PROGRAMS];
  for (const name of ['package-lock.json', 'scripts/build-package.ts', ...files])
    hash.update(`${name}\n`).update(readFileSync(path.join(ROOT, name)));
  return hash.digest('hex').slice(0, 16);
}

/** In a process of its own, for the sake of callers that cannot wait; two that build at once come to the same. */
function build(folder: string): void {
  mkdirSync(CACHE, { recursive: true });
  const scratch = mkdtempSync(path.join(CACHE, 'building-'));
  const script = path.join(ROOT, 'scripts/build.ts');
  const ended = spawnSync(process.execPath, [script, scratch, ...PROGRAMS], { cwd: ROOT, encoding: 'utf8' });
  if (ended.status !== 0) throw new Error(`the package could not be built: ${ended.stderr}`);
  try {
    renameSync(scratch, folder);
  } catch (error) {
    rmSync(scratch, { recursive: true });
    if (!existsSync(folder)) throw error; // else another one was faster
  }
  const old = globSync('*', { cwd: CACHE }).map((name) => path.join(CACHE, name));
  for (const place of old) {
    const age = Date.now() - (statSync(place, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
    if (age > KEPT_MS) rmSync(place, { recursive: true, force: true });
  }
}
