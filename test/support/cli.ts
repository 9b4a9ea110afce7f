import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

const root = path.resolve(import.meta.dirname, '../..');

/** What a command line came to. */
export interface CliResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs `proctor …` from the sources, as the launcher does, in a folder; colours and CI marks off unless given. */
export async function proctor(
  cwd: string,
  argv: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<CliResult> {
  return await run(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', path.join(root, 'src/cli/main.ts'), ...argv],
    cwd,
    environment,
  );
}

/** Runs any program to its end and collects what it says. */
export async function run(
  program: string,
  argv: readonly string[],
  cwd: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<CliResult> {
  const env: Record<string, string | undefined> = {
    ...process.env,
    NO_COLOR: '1',
    FORCE_COLOR: undefined,
    ...environment,
  };
  const child = spawn(program, argv, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const stdout: Buffer[] = [];
  const stderr: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => stdout.push(chunk));
  child.stderr.on('data', (chunk: Buffer) => stderr.push(chunk));
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', resolve);
  });
  return { code, stdout: Buffer.concat(stdout).toString(), stderr: Buffer.concat(stderr).toString() };
}

/** A temporary folder that goes away with its scope. */
export async function temporaryFolder(): Promise<AsyncDisposable & { readonly path: string }> {
  const folder = await mkdtemp(path.join(tmpdir(), 'proctor-cli-'));
  return { path: folder, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) };
}
