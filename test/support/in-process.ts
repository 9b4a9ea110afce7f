import { Writable } from 'node:stream';
import { runCli } from '../../src/cli/program.ts';
import type { CliResult } from './cli.ts';

/** Runs `proctor …` in this process, without the cost of a new one; for commands that only read and write the store. */
export async function proctorHere(cwd: string, argv: readonly string[]): Promise<CliResult> {
  const [stdout, stderr] = [new Collected(), new Collected()];
  const streams = { stdout, stderr } as unknown as Record<'stdout' | 'stderr', NodeJS.WriteStream>;
  const code = await runCli(argv, { cwd, environment: { ...process.env, NO_COLOR: '1' }, ...streams });
  return { code, stdout: stdout.text, stderr: stderr.text };
}

class Collected extends Writable {
  readonly #chunks: Buffer[] = [];

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.#chunks.push(chunk);
    done();
  }

  get text(): string {
    return Buffer.concat(this.#chunks).toString();
  }
}
