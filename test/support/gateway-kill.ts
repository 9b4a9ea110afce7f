import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { type App, createApp } from '../../src/app.ts';
import { builtPackage } from './built-package.ts';
import { type TemporaryFolder, temporaryFolder } from './chaos-exam.ts';
import { type Running, startNode } from './chaos-process.ts';
import { auditRound, type RoundAudit, StreamAudit } from './gateway-kill-audit.ts';
import type { KillCommand, KillReport } from './gateway-kill-process.ts';
import { STEPS, type Step } from './gateway-kill-steps.ts';
import { eventually } from './waiting.ts';

/** How the kill test runs. */
export interface KillOptions {
  readonly rounds: number;
  readonly seed: number;
  /** Rounds at once, all on one store. */
  readonly lanes?: number;
  told?(done: number): void;
}

/** What became of the rounds of one step. */
export interface StepFigures {
  readonly step: string;
  rounds: number;
  executed_once: number;
  not_executed: number;
  unknown: number;
  lost: number;
  twice: number;
}

/** What the rounds came to; `folder` is kept for a look where something was violated. */
export interface KillReportFigures {
  readonly steps: readonly StepFigures[];
  readonly violations: readonly string[];
  readonly kills: number;
  readonly duration_ms: number;
  readonly folder: string | null;
}

const _PATIENCE_MS = 30_000;
const ANY_MOMENT_MS = 500;

/** Runs rounds of gated calls in which a process is killed, and holds each against what an approval promises. */
export async function killTest(options: KillOptions): Promise<KillReportFigures> {
  const { rounds, seed, lanes = 4, told } = options;
  const started = performance.now();
  await using folder = await temporaryFolder('approval-kill');
  await writeProject(folder);
  await using app = await createApp({ cwd: folder.path, environment: { PATH: process.env['PATH'] ?? '' } });
  const stage: Stage = { app, folder, actors: [], idle: [], kills: 0, stream: new StreamAudit(app.store) };
  const steps = STEPS.map(
    (step): StepFigures => ({
      step: step.name,
      rounds: 0,
      executed_once: 0,
      not_executed: 0,
      unknown: 0,
      lost: 0,
      twice: 0,
    }),
  );
  const violations: string[] = [];
  const random = randomFrom(seed);
  const order = shuffled(
    Array.from({ length: rounds }, (_, round) => round % STEPS.length),
    random,
  );
  let next = 0;
  const lane = async () => {
    for (let round = next++; round < rounds; round = next++) {
      const index = order[round] ?? 0;
      const step = STEPS[index] as Step;
      const figures = steps[index] as StepFigures;
      const audit = await liveRound(stage, step, round, random).catch(async (error: unknown): Promise<RoundAudit> => {
        const effects = (await effectsOf(stage, round)).length;
        return { effects, unknown: false, lost: true, violations: [`${error}; side effects: ${effects}`] };
      });
      count(figures, audit);
      violations.push(...audit.violations.map((text) => `round ${round} (${step.name}): ${text}`));
      told?.(figures.rounds);
    }
  };
  try {
    await Promise.all(Array.from({ length: lanes }, lane));
  } finally {
    for (const actor of stage.actors) await actor[Symbol.asyncDispose]();
  }
  if (violations.length > 0) folder.keep();
  const duration_ms = Math.round(performance.now() - started);
  return { steps, violations, kills: stage.kills, duration_ms, folder: violations.length > 0 ? folder.path : null };
}

/** What the rounds share: the project, processes that wait for work, and the stream that is looked at as it grows. */
interface Stage {
  readonly app: App;
  readonly folder: TemporaryFolder;
  /** Every process that was started. */
  readonly actors: Actor[];
  readonly idle: Actor[];
  kills: number;
  readonly stream: StreamAudit;
}

/** One call from its request to its end, with one death on the way; then what is left is looked at. */
async function liveRound(stage: Stage, step: Step, round: number, random: () => number): Promise<RoundAudit> {
  const principal = `agent:round-${round}`;
  const tool = step.victim === 'carrier' ? 'own.later' : 'own.act';
  const call = { op: 'call', tool, principal, round } as const;
  const caller = await open(stage, step.victim === 'caller' ? step.fault : null);
  caller.send(call);
  if (step.fault === null) void sleep(random() * ANY_MOMENT_MS).then(() => caller.process.kill('SIGKILL'));
  const asked = await caller.says('called');
  if (step.victim === 'approver') await mortalGrant(stage, step, asked);
  else if (step.victim === 'carrier') await mortalCarrier(stage, step, asked, caller);
  else if (asked !== null) await grant(stage, asked.approval_id);

  if (step.victim === 'approver') {
    if ((await caller.says('ended')) === null) throw new Error(`the caller died: ${caller.process.stderr()}`);
    await close(stage, caller);
  } else {
    await buried(stage, caller);
    await reattached(stage, call);
  }
  const rows = await stage.app.store.toolRuns({ principal }, { after: null, limit: 10 });
  return await auditRound(stage.app.store, stage.stream, step, rows.toReversed(), await effectsOf(stage, round));
}

/** The lines that the round's call left behind. */
async function effectsOf({ folder }: Stage, round: number): Promise<string[]> {
  const text = await readFile(folder.file('effects.txt'), 'utf8');
  return text.split('\n').filter((line) => line.endsWith(` ${round}`));
}

/** An approver that dies at the grant; where nothing was granted, another one does it. */
async function mortalGrant(stage: Stage, step: Step, asked: Called | null): Promise<void> {
  const approval_id = asked?.approval_id ?? '';
  const victim = await open(stage, step.fault);
  victim.send({ op: 'approve', approval_id, carry_on: false });
  await buried(stage, victim);
  await grant(stage, approval_id);
}

/** The caller is gone for good; who approves carries the call out and dies of it. */
async function mortalCarrier(stage: Stage, step: Step, asked: Called | null, caller: Actor): Promise<void> {
  caller.process.kill('SIGKILL');
  const victim = await open(stage, step.fault);
  victim.send({ op: 'approve', approval_id: asked?.approval_id ?? '', carry_on: true });
  await buried(stage, victim);
}

/** A fresh process makes the identical call; what still waits is approved, and what was asked anew is taken back. */
async function reattached(stage: Stage, call: KillCommand & { op: 'call' }): Promise<void> {
  const { store } = stage.app;
  const fresh = await open(stage, null);
  fresh.send(call);
  const joined = await fresh.says('called');
  if (joined === null) throw new Error(`the fresh process died: ${fresh.process.stderr()}`);
  const earlier = (await store.toolRuns({ principal: call.principal }, { after: null, limit: 10 })).length > 1;
  if (earlier) await store.cancelToolRun(joined.tool_run_id, 'cancelled', 'it was asked anew', 'human:operator');
  else if (joined.approval_id !== null) await grant(stage, joined.approval_id);
  await fresh.says('ended');
  await close(stage, fresh);
}

/** Grants what is pending, by a process of its own. */
async function grant(stage: Stage, approvalId: string | null): Promise<void> {
  const approval = await stage.app.store.approval(approvalId ?? '');
  if (approval?.status !== 'pending') return;
  const approver = await open(stage, null);
  approver.send({ op: 'approve', approval_id: approval.approval_id, carry_on: false });
  await approver.says('answered');
  await close(stage, approver);
}

type Called = KillReport & { type: 'called' };

/** A process with what it has said and not been asked about yet. */
interface Actor extends AsyncDisposable {
  readonly process: Running;
  send(command: KillCommand): void;
  /** The next report of this type; null when the process died without it. */
  says<Type extends KillReport['type']>(type: Type): Promise<(KillReport & { type: Type }) | null>;
}

async function open(stage: Stage, fault: Step['fault']): Promise<Actor> {
  const actor = stage.idle.pop() ?? newActor(stage);
  actor.send({ op: 'open', fault });
  if ((await actor.says('ready')) === null) throw new Error(`it did not open: ${actor.process.stderr()}`);
  return actor;
}

async function close(stage: Stage, actor: Actor): Promise<void> {
  actor.send({ op: 'close' });
  await actor.says('closed');
  stage.idle.push(actor);
}

/** Waits for a process that kills itself, or was killed. */
async function buried(stage: Stage, actor: Actor): Promise<void> {
  const exit = await eventually('the kill', () => actor.process.ended());
  if (exit.signal !== 'SIGKILL')
    throw new Error(`it ended with ${exit.code}, not by the kill: ${actor.process.stderr()}`);
  stage.kills += 1;
}

function newActor({ folder, actors }: Stage): Actor {
  const running = startNode(
    ['--disable-warning=ExperimentalWarning', builtPackage().other('gateway-kill-process'), folder.path],
    { cwd: tmpdir() },
  );
  let read = 0;
  const actor: Actor = {
    process: running,
    send: (command) => running.write(`${JSON.stringify(command)}\n`),
    says: (type) =>
      eventually(`it says ${type}`, () => {
        const dead = running.ended() !== null; // looked at first: what it said before it died counts
        for (;;) {
          const end = running.stdout().indexOf('\n', read);
          if (end < 0) return dead ? { gone: true as const } : null;
          const report = JSON.parse(running.stdout().slice(read, end)) as KillReport;
          read = end + 1;
          if (report.type === 'failed') throw new Error(`${report.message}; ${running.stderr()}`);
          if (report.type === type) return { gone: false as const, report };
        }
      }).then((found) => (found.gone ? null : (found.report as never))),
    [Symbol.asyncDispose]: () => running[Symbol.asyncDispose](),
  };
  actors.push(actor);
  return actor;
}

async function writeProject(folder: TemporaryFolder): Promise<void> {
  await mkdir(folder.file('.proctor'));
  await writeFile(folder.file('effects.txt'), '');
  await writeFile(folder.file('tools.ts'), TOOLS);
  const principals = [{ id: 'human:operator', roles: ['operator'] }];
  const project = { version: 1, principals, tools: { own: { kind: 'module', path: 'tools.ts' } } };
  await writeFile(folder.file('proctor.yaml'), JSON.stringify(project));
  const rules = [
    { id: 'attended', tools: 'own.act', effect: { ask: { execute: 'attended' } } },
    { id: 'unattended', tools: 'own.later', effect: { ask: { execute: 'on_approval' } } },
  ];
  await writeFile(folder.file('policy.yaml'), JSON.stringify({ version: 1, rules }));
}

/** The side effect is one line, on disk before the tool answers: what happened outside is counted there, whatever the store says. */
const TOOLS = `import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs';
const run = ({ round }, { idempotency_key }) => {
  if (process.env.KILL_AT_TOOL === 'before') process.kill(process.pid, 'SIGKILL');
  const file = openSync(new URL('./effects.txt', import.meta.url), 'a');
  writeSync(file, \`\${idempotency_key} \${round}\\n\`);
  fsyncSync(file);
  closeSync(file);
  if (process.env.KILL_AT_TOOL === 'after') process.kill(process.pid, 'SIGKILL');
  return 'done';
};
const tool = { description: 'Leaves one line behind.', input_schema: { type: 'object' }, run };
export const tools = { act: tool, later: tool };
`;

function count(figures: StepFigures, { effects, unknown, lost }: RoundAudit): void {
  figures.rounds += 1;
  if (effects === 1) figures.executed_once += 1;
  if (effects === 0) figures.not_executed += 1;
  if (effects > 1) figures.twice += 1;
  if (unknown) figures.unknown += 1;
  if (lost) figures.lost += 1;
}

/** Mulberry32: the same rounds for the same seed. */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function shuffled<Item>(items: readonly Item[], random: () => number): Item[] {
  const keyed = items.map((item) => [random(), item] as const);
  return keyed.sort(([a], [b]) => a - b).map(([, item]) => item);
}
