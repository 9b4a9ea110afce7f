import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Writable } from 'node:stream';
import type { runCli } from '../../src/cli/program.ts';
import { builtPackage } from './built-package.ts';

/** What a command line came to. */
export interface CliResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

type Environment = Readonly<Record<string, string>>;

/**
 * Runs `proctor …` of the built package in a folder, inside this process: its streams, folder and environment are its own, and a hundred
 * commands cost what ten processes do. Colours are off unless given. Signals, the standard input, what modules of the test print and what
 * keeps a process alive need `proctorProcess`.
 */
export async function proctor(cwd: string, argv: readonly string[], environment: Environment = {}): Promise<CliResult> {
  const program = (await import(/* @vite-ignore */ builtPackage().program)) as { readonly runCli: typeof runCli };
  const [stdout, stderr] = [collector(), collector()];
  const code = await program.runCli(argv, {
    cwd,
    environment: environmentWith(environment),
    stdout: stdout.stream,
    stderr: stderr.stream,
  });
  return { code, stdout: stdout.text(), stderr: stderr.text() };
}

/** The same in a process of its own, as `bin/proctor` starts it. */
export async function proctorProcess(
  cwd: string,
  argv: readonly string[],
  environment: Environment = {},
): Promise<CliResult> {
  const flags = '--disable-warning=ExperimentalWarning';
  return await run(process.execPath, [flags, builtPackage().main, ...argv], cwd, environment);
}

/** Runs any program to its end and collects what it says. */
export async function run(
  program: string,
  argv: readonly string[],
  cwd: string,
  environment: Environment = {},
): Promise<CliResult> {
  const child = spawn(program, argv, { cwd, env: environmentWith(environment), stdio: ['ignore', 'pipe', 'pipe'] });
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

function environmentWith(more: Environment): Record<string, string | undefined> {
  return { ...process.env, NO_COLOR: '1', FORCE_COLOR: undefined, ...more };
}

/** A stream that is no terminal and keeps what is written to it. */
function collector(): { readonly stream: NodeJS.WriteStream; text(): string } {
  const chunks: Buffer[] = [];
  const stream = new Writable({
    decodeStrings: true,
    write(chunk: Buffer, _encoding, done) {
      chunks.push(chunk);
      done();
    },
  });
  return { stream: stream as NodeJS.WriteStream, text: () => Buffer.concat(chunks).toString() };
}
