import { enableCompileCache } from 'node:module';

enableCompileCache();
// The reader of our output went away (`proctor runs | head`): end as a program that gets SIGPIPE does. A run stays resumable.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(141);
  throw error;
});
const { runCli } = await import('./program.ts');
process.exitCode = await runCli(process.argv.slice(2), {
  cwd: process.cwd(),
  environment: process.env,
  stdout: process.stdout,
  stderr: process.stderr,
});
