import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';

/** Starts one process per list of arguments, lets them go together once all are ready, and answers what each told at its end. */
export async function race<Report>(script: string, lists: readonly (readonly string[])[]): Promise<Report[]> {
  const children = lists.map((args) => fork(new URL(script, import.meta.url), args, { silent: true }));
  try {
    await Promise.all(children.map(ready));
    const reports = children.map(lastWord<Report>);
    for (const child of children) child.send('go');
    return await Promise.all(reports);
  } finally {
    for (const child of children) child.kill('SIGKILL');
  }
}

async function ready(child: ChildProcess): Promise<void> {
  const errors: string[] = [];
  child.stderr?.on('data', (chunk: Buffer) => errors.push(chunk.toString()));
  const failed = once(child, 'exit').then(([code]) => {
    throw new Error(`a process ended with ${code} before it was ready: ${errors.join('')}`);
  });
  await Promise.race([once(child, 'message'), failed]);
}

async function lastWord<Report>(child: ChildProcess): Promise<Report> {
  const errors: string[] = [];
  child.stderr?.on('data', (chunk: Buffer) => errors.push(chunk.toString()));
  let report: Report | undefined;
  child.on('message', (message) => {
    report = message as Report;
  });
  const [code, signal] = (await once(child, 'exit')) as [number | null, string | null];
  if (report === undefined) throw new Error(`a process ended with ${code ?? signal} and no report: ${errors.join('')}`);
  return report;
}
