import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { type App, createApp } from '../../app.ts';
import { ProctorError } from '../../contract/problem.ts';
import { describeRun } from '../../engine/describe.ts';
import { createRun, findRun } from '../../engine/run.ts';
import { viewRun } from '../../engine/run-view.ts';
import { verifyRun } from '../../engine/verify/verify-run.ts';
import { programFile } from '../../lib/program-file.ts';
import type { Command, CommandContext } from '../context.ts';
import { demoProfile } from '../demo/profile.ts';
import { ticketCases } from '../demo/tickets.ts';
import { counted, duration, number } from '../format.ts';
import { planFrom } from '../plan-from.ts';
import { showProgress } from '../progress.ts';
import { runReport } from '../report.ts';
import { exitCodeOf } from '../work.ts';
import { text as verificationText } from './verify.ts';

const CASES = 168;
const WORKERS = 3;
const KILL_AFTER = 60; // executions that have ended when one worker is killed

/**
 * `proctor demo`: the product on one screen: an agent on loopback, three workers, one killed with SIGKILL in the middle of its
 * work, its leases taken over, a verdict with an interval, and the check of the evidence. No key, no Docker, nothing installed.
 */
export const demo: Command<Record<string, never>> = async (context) => {
  const started = performance.now();
  const { output } = context;
  const say = (text: string) => output.note(text);
  const step = (name: string, text: string) => say(`${output.noteStyle('cyan', name.padEnd(12))}${text}`);
  const folder = await mkdtemp(path.join(tmpdir(), 'proctor-demo-'));
  const environment = {
    ...context.environment,
    PROCTOR_DB: path.join(folder, 'proctor.db'),
    PROCTOR_ARTIFACTS: path.join(folder, 'artifacts'),
  };
  const children: ChildProcess[] = [];
  try {
    say(output.noteStyle('bold', 'Proctor examines an agent; one of its workers will be killed on the way.\n'));
    const port = await startAgent(children);
    step('agent', `a support triage service on 127.0.0.1:${port}: 20–80 ms an answer, overloaded now and then`);
    await writeFile(
      path.join(folder, 'tickets.jsonl'),
      `${ticketCases(CASES)
        .map((item) => JSON.stringify(item))
        .join('\n')}\n`,
    );
    await writeFile(path.join(folder, 'profile.json'), `${JSON.stringify(demoProfile(port), null, 2)}\n`);
    await using app = await createApp({ cwd: folder, environment, secrets: context.secrets });
    const { plan, loaded } = await planFrom(
      { ...app, cwd: folder, signal: new AbortController().signal },
      { profile: 'profile.json' },
    );
    const { run_id } = await createRun(app, plan, {
      run_key: 'demo',
      base_dir: loaded.base_dir,
      created_by: app.principal,
      concurrency: null,
    });
    step('run', `${run_id}: ${number(plan.cases)} tickets × 2 repeats, everything frozen and hashed`);
    for (let index = 1; index <= WORKERS; index += 1) children.push(startWorker(folder, environment, run_id, index));
    step('workers', `${WORKERS} processes on one SQLite file, no daemon`);
    const show = new AbortController();
    const shown = showProgress(app.store, app.clock, output, {
      run_id,
      title: `${run_id}  ${number(plan.cases)} tickets × 2`,
      signal: show.signal,
      session_id: null,
    });
    shown.catch(() => undefined); // awaited below; until then its failure is not an unhandled one
    const victim = children.at(-1);
    try {
      await killOne(app, run_id, victim, step);
      await untilEnded(app, run_id, children);
    } finally {
      show.abort(new Error('the run ended'));
      await shown;
    }
    const run = await findRun(app.store, run_id);
    const document = await describeRun(app.store, run);
    step(
      'taken over',
      `${counted(document.stale_attempts, 'execution')} of the dead worker went on elsewhere; none lost, none graded twice\n`,
    );
    const verification = await verifyRun(app, run, null);
    output.result(
      { ...document, verified: verification.ok, demo_ms: Math.round(performance.now() - started) },
      `${await runReport(app, await viewRun(app.store, run), document, output)}\n\n${verificationText(verification, output)}`,
    );
    say(
      `\n${output.noteStyle('dim', `${duration(performance.now() - started)} in all. Everything is kept in ${folder}`)}`,
    );
    say(
      output.noteStyle(
        'dim',
        'Your own agent next: proctor init, then proctor check profile.yaml --probe, then proctor run profile.yaml',
      ),
    );
    return verification.ok ? exitCodeOf(run) : 1;
  } finally {
    for (const child of children) child.kill('SIGKILL');
  }
};

async function startAgent(children: ChildProcess[]): Promise<number> {
  const child = spawn(process.execPath, [fileURLToPath(programFile(import.meta.url, '../demo/agent'))], {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  children.push(child);
  if (child.stdout === null) throw new ProctorError('internal', 'the demo’s agent has no stdout');
  const lines = createInterface({ input: child.stdout });
  const [line] = (await once(lines, 'line', { signal: AbortSignal.timeout(15_000) })) as [string];
  return (JSON.parse(line) as { port: number }).port;
}

function startWorker(
  cwd: string,
  environment: CommandContext['environment'],
  runId: string,
  index: number,
): ChildProcess {
  const argv = [
    fileURLToPath(programFile(import.meta.url, '../main')),
    'worker',
    '--run',
    runId,
    '--name',
    `worker-${index}`,
    '--lease-ms',
    '10000',
  ];
  return spawn(process.execPath, ['--disable-warning=ExperimentalWarning', ...argv], {
    cwd,
    env: environment as NodeJS.ProcessEnv,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
}

/** Waits until the work is well under way and the victim holds something, then kills it as the machine would: without a word. */
async function killOne(
  app: App,
  runId: string,
  victim: ChildProcess | undefined,
  step: (name: string, text: string) => void,
): Promise<void> {
  for (let looks = 0; looks < 3000; looks += 1) {
    const progress = await app.store.progress(runId);
    const holder = (await app.store.holders(runId)).find((found) => found.pid === victim?.pid);
    const ended = progress.completed + progress.failed + progress.timed_out;
    if (ended >= KILL_AFTER && holder !== undefined) {
      victim?.kill('SIGKILL');
      step('SIGKILL', `${holder.worker} (pid ${holder.pid}) while it held ${counted(holder.held, 'execution')}`);
      return;
    }
    if (ended === progress.total) return;
    await app.clock.sleep(10);
  }
}

async function untilEnded(app: App, runId: string, children: readonly ChildProcess[]): Promise<void> {
  while ((await findRun(app.store, runId)).finished_at === null) {
    const workers = children.slice(1);
    if (workers.every((child) => child.exitCode !== null || child.signalCode !== null)) {
      throw new ProctorError(
        'run_failed',
        `every worker of ${runId} is gone and the run has not ended; what they said stands above`,
      );
    }
    await app.clock.sleep(50);
  }
}
