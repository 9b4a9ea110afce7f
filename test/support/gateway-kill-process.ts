/**
 * A process of the kill test: it opens the project in its folder and does what it is told on stdin, one JSON document a line, until it
 * is killed; on stdout it says what came of it. A fault makes it kill itself at one moment: the store that its gateway gets is the real
 * one, with a kill before, inside or after one verb.
 */
import { createInterface } from 'node:readline';
import { type App, createApp } from '../../src/app.ts';
import type { DecideRequest, Store } from '../../src/contract/store.ts';
import type { Caller } from '../../src/gateway/ports.ts';
import { type GatewayApp, openGatewayApp } from '../../src/gateway-app.ts';
import type { Fault } from './gateway-kill-steps.ts';

/** What the process is told. */
export type KillCommand =
  | { readonly op: 'open'; readonly fault: Fault | null }
  | { readonly op: 'call'; readonly tool: string; readonly principal: string; readonly round: number }
  | { readonly op: 'approve'; readonly approval_id: string; readonly carry_on: boolean }
  | { readonly op: 'close' };

/** What it says. */
export type KillReport =
  | { readonly type: 'ready' | 'closed' }
  | {
      readonly type: 'called';
      readonly tool_run_id: string;
      readonly status: string;
      readonly approval_id: string | null;
    }
  | { readonly type: 'ended'; readonly tool_run_id: string; readonly status: string; readonly reason: string | null }
  | { readonly type: 'answered'; readonly result: string }
  | { readonly type: 'failed'; readonly message: string };

const folder = process.argv[2] ?? '';
const environment = { PATH: process.env['PATH'] ?? '' };
const never = new AbortController().signal;
const FOR_EVER_MS = 2_000_000_000;
let app: App | null = null;
let gateway: GatewayApp | null = null;

for await (const line of createInterface({ input: process.stdin })) {
  const command = JSON.parse(line) as KillCommand;
  obey(command).catch((error: unknown) =>
    say({ type: 'failed', message: error instanceof Error ? (error.stack ?? '') : String(error) }),
  );
}
process.exit(0);

async function obey(command: KillCommand): Promise<void> {
  if (command.op === 'open') {
    const { fault } = command;
    process.env['KILL_AT_TOOL'] = fault?.at === 'side_effect' ? fault.when : ''; // the tool's thread gets a copy
    app = await createApp({ cwd: folder, environment });
    const store = fault === null ? app.store : deadly(app.store, fault);
    gateway = await openGatewayApp({ ...app, store } as App, {
      environment,
      note: (text) => process.stderr.write(`${text}\n`),
    });
    say({ type: 'ready' });
  } else if (command.op === 'call') await call(command);
  else if (command.op === 'approve') await approve(command);
  else {
    await gateway?.[Symbol.asyncDispose]();
    await app?.[Symbol.asyncDispose]();
    say({ type: 'closed' });
  }
}

async function call({ tool, principal, round }: KillCommand & { op: 'call' }): Promise<void> {
  const { gateway: gate, principal: who } = opened();
  const caller: Caller = { principal: who(principal), surface: 'mcp', bound: null };
  const started = await gate.start(caller, { tool, arguments: { round } }, never);
  const row = await gate.deps.store.toolRun(started.tool_run_id);
  say({
    type: 'called',
    tool_run_id: started.tool_run_id,
    status: row?.status ?? '',
    approval_id: row?.approval_id ?? null,
  });
  const { run } = await started.next({ hold_ms: FOR_EVER_MS, signal: never });
  say({ type: 'ended', tool_run_id: run.tool_run_id, status: run.status, reason: run.reason });
}

async function approve({ approval_id, carry_on }: KillCommand & { op: 'approve' }): Promise<void> {
  const { gateway: gate, principal: who } = opened();
  const { approval, preview, run } = await gate.view(approval_id);
  const { call_digest } = approval;
  const answer = { approval_id, decision: 'approve', call_digest, preview_digest: preview.digest } as const;
  const said = { who: who('human:operator'), comment: null, surface: 'test', edited: null };
  const result = await gate.answer({ ...answer, ...said }, never);
  say({ type: 'answered', result: result.type === 'answered' ? 'answered' : result.code });
  if (!carry_on) return;
  const carried = await gate.carryOn(run.tool_run_id);
  const leg = await carried.next({ hold_ms: FOR_EVER_MS, signal: never });
  say({ type: 'ended', tool_run_id: leg.run.tool_run_id, status: leg.run.status, reason: leg.run.reason });
}

function opened(): GatewayApp {
  if (gateway === null) throw new Error('nothing is open');
  return gateway;
}

/** The store, with a kill at one moment of one verb. */
function deadly(store: Store, { at, when }: Fault): Store {
  return new Proxy(store, {
    get(target, name) {
      const verb = Reflect.get(target, name) as unknown;
      if (name !== at || typeof verb !== 'function') return verb;
      return async (...args: unknown[]) => {
        if (when === 'before') die();
        const result = (await verb.apply(target, when === 'during' ? args.map(decidingDeadly) : args)) as unknown;
        // Only a use that won is the step that is meant; `false` is the poll of somebody who waits.
        if (when === 'after' && result !== false) die();
        return result;
      };
    },
  });
}

/** The decision is asked for inside the transaction: a kill there leaves an open one behind. */
function decidingDeadly(argument: unknown): unknown {
  if (typeof argument !== 'object' || argument === null || !('decide' in argument)) return argument;
  return { ...argument, decide: die } as unknown as DecideRequest;
}

function die(): never {
  process.kill(process.pid, 'SIGKILL');
  throw new Error('a process outlived its SIGKILL');
}

function say(report: KillReport): void {
  process.stdout.write(`${JSON.stringify(report)}\n`);
}
