import path from 'node:path';
import type { App } from '../../app.ts';
import { ProctorError } from '../../contract/problem.ts';
import type { ToolRunFilter, ToolRunRow } from '../../contract/store.ts';
import { toolRunDocument } from '../../core/tool-run-document.ts';
import { gatewayEventDocument } from '../../gateway/describe.ts';
import { shownOutput } from '../../gateway/output.ts';
import type { Caller } from '../../gateway/ports.ts';
import { policyProblem } from '../../gateway/prepare.ts';
import type { GatewayApp } from '../../gateway-app.ts';
import { readRegular } from '../../lib/regular-file.ts';
import type { Command, CommandContext } from '../context.ts';
import { counted, table } from '../format.ts';
import { onInterrupt } from '../signals.ts';
import { logIn } from '../tool-login.ts';
import { assertScope, definitionsText, pinTools } from '../tool-pins.ts';
import { oneLine, outputText, statusText, toolRunLine, toolRunText } from '../tool-text.ts';
import { withGateway } from '../with-gateway.ts';

interface ToolOptions {
  readonly action: string;
  readonly name?: string;
  readonly args?: string;
  readonly arg?: readonly string[];
  readonly argsFile?: string;
  readonly wait: number;
  readonly idempotencyKey?: string;
  readonly reason?: string;
  readonly runs?: boolean;
  readonly events?: boolean;
  readonly run?: string;
  readonly status?: string;
  readonly limit: number;
  readonly yes?: boolean;
  readonly seen?: string;
}

type Action = (context: CommandContext, options: ToolOptions, gateway: GatewayApp, app: App) => Promise<number>;

/** `proctor tool ls|run|show|cancel|pin|login|disable|enable`: the tools of the project, through the gateway. */
export const tool: Command<ToolOptions> = async (context, options) => {
  const action = ACTIONS[options.action];
  if (action === undefined)
    throw new ProctorError(
      'usage',
      `there is no \`tool ${options.action}\`; the actions are ${Object.keys(ACTIONS).join(', ')}`,
    );
  return await withGateway(context, (gateway, app) => action(context, options, gateway, app));
};

const MOST_ARGS_BYTES = 1024 * 1024;
/** As long as a timer can be; the tool's own timeout ends its call. */
const FOREVER_MS = 2_147_000_000;

const never = () => new AbortController().signal;

const ls: Action = async ({ output }, options, gateway, app) => {
  if (options.runs) return await listRuns(output, options, app);
  const { tools, problems } = await gateway.gateway.catalogue(never(), true);
  const pins = new Map((await app.store.pins(null)).map((pin) => [`${pin.source}.${pin.name}`, pin.digest]));
  const off = (await app.store.switches()).filter((row) => row.off === 1);
  const unread = await gateway.policy().then(
    () => null,
    (error: unknown) => policyProblem(error),
  );
  const rows = tools.map(({ tool: name, source, definition, digest, risk }) => {
    const pinned = pins.get(name) ?? null;
    const scope = off.find((row) => row.scope === '*' || row.scope === source.name || row.scope === name);
    const known = pinned === digest ? 'callable' : pinned === null ? 'new' : 'changed';
    const state = scope !== undefined ? 'switched_off' : unread !== null && known === 'callable' ? 'no_policy' : known;
    return {
      tool: name,
      state,
      risk,
      title: definition.title,
      description: definition.description,
      definition_digest: digest,
    };
  });
  if (output.json) {
    for (const row of rows) output.line(row, '');
    for (const { source, tool: name, message } of problems)
      output.line({ tool: name === null ? null : `${source}.${name}`, source, state: 'refused', message }, '');
    if (unread !== null) output.line({ tool: null, source: null, state: 'no_policy', message: unread }, '');
  } else if (rows.length === 0)
    output.result(
      null,
      gateway.loaded.present
        ? 'no tools; `tools:` in proctor.yaml names their sources'
        : 'no tools: there is no proctor.yaml here',
    );
  else
    output.result(
      null,
      table(
        rows.map((row) => [
          oneLine(row.tool),
          output.style(row.state === 'callable' ? 'green' : 'yellow', row.state),
          row.risk,
          oneLine(row.description.split('\n')[0] ?? '').slice(0, 90),
        ]),
      ),
    );
  for (const { source, tool: name, message } of problems)
    output.note(
      `${output.noteStyle('yellow', 'refused')} ${oneLine(name === null ? source : `${source}.${name}`)}: ${oneLine(message)}`,
    );
  if (unread !== null) output.note(`${output.noteStyle('red', 'denied')} every call: ${oneLine(unread)}`);
  return problems.some((problem) => problem.tool === null) ? 3 : unread === null ? 0 : 2;
};

async function listRuns(output: CommandContext['output'], options: ToolOptions, app: App): Promise<number> {
  const filter: ToolRunFilter = {
    ...(options.run === undefined ? {} : { run_id: options.run }),
    ...(options.status === undefined ? {} : { status: options.status }),
    ...(options.name === undefined ? {} : { tool: options.name }),
  };
  const rows = (await app.store.toolRuns(filter, { after: null, limit: options.limit })).map((row) =>
    toolRunDocument(row, null),
  );
  if (output.json) for (const row of rows) output.line(row, '');
  else output.result(null, rows.length === 0 ? 'no tool runs' : table(rows.map((row) => toolRunLine(row, output))));
  return 0;
}

const run: Action = async (context, options, gateway, app) => {
  const { output } = context;
  const name = named(options, 'run TOOL');
  const caller: Caller = { principal: gateway.principal(app.principal), surface: 'cli', bound: null };
  using interruption = onInterrupt(output, () => undefined);
  const call = await gateway.gateway.start(
    caller,
    { tool: name, arguments: await argumentsOf(context, options), idempotency_key: options.idempotencyKey ?? null },
    interruption.drain,
  );
  const leg = await call.next({ hold_ms: 0, signal: interruption.drain });
  const waiting = leg.type === 'pending' && leg.run.status === 'approval_required' ? leg.approval : null;
  if (waiting !== null && options.wait > 0)
    output.note(`proctor: ${name} waits for an answer: proctor approve ${waiting.approval_id}`);
  const last =
    leg.type === 'done'
      ? leg
      : await call.next({
          hold_ms: waiting === null ? FOREVER_MS : options.wait,
          running_ms: FOREVER_MS,
          signal: interruption.drain,
        });
  const document = toolRunDocument(last.run, last.type === 'done' ? last.output : null);
  if (last.type !== 'done' && document.status !== 'approval_required') {
    const id = document.tool_run_id;
    output.result(
      document,
      `${statusText(document.status, output)} ${oneLine(name)} goes on\n  proctor tool show ${id}     how it ended\n  proctor tool cancel ${id}   stops it`,
    );
    return interruption.exitCode() ?? 1;
  }
  if (last.type !== 'done') {
    output.result(
      document,
      `${statusText(document.status, output)} ${oneLine(name)} waits for an answer\n  proctor approvals ${document.approval_id}   shows it\n  proctor approve ${document.approval_id}     lets it be carried out\n  proctor deny ${document.approval_id}        does not`,
    );
    return interruption.exitCode() ?? 4;
  }
  const { status, error } = document;
  if (document.edited_from !== null)
    output.note(`proctor: a person changed the arguments before this ran: ${oneLine(last.run.arguments)}`);
  if (status === 'ok') output.result(document, last.output === null ? '' : outputText(last.output));
  else {
    output.result(document, last.output === null ? '' : outputText(last.output));
    output.note(
      `${output.noteStyle('red', status)} ${oneLine(name)}: ${oneLine(error?.message ?? document.reason ?? '')} (${document.tool_run_id})`,
    );
  }
  return interruption.exitCode() ?? (status === 'ok' ? 0 : 1);
};

const show: Action = async ({ output }, options, gateway, app) => {
  const row = await app.store.toolRun(named(options, 'show TOOL_RUN'));
  if (row === null)
    throw new ProctorError(
      'not_found',
      `there is no tool run \`${options.name}\`; \`proctor tool ls --runs\` lists them`,
    );
  if (options.events === true) return await listEvents(output, row, app);
  const document = toolRunDocument(row, await shownOutput(row, gateway.gateway.deps));
  output.result(document, toolRunText(document, output));
  return 0;
};

async function listEvents(output: CommandContext['output'], row: ToolRunRow, app: App): Promise<number> {
  for (let after: number | null = null; ; ) {
    const page: Awaited<ReturnType<App['store']['gatewayEvents']>> = await app.store.gatewayEvents(
      { tool_run_id: row.tool_run_id },
      { after, limit: 200 },
    );
    for (const event of page) {
      const document = gatewayEventDocument(event, row);
      output.line(document, `${document.at}  ${document.type.padEnd(20)}  ${output.style('dim', oneLine(event.body))}`);
    }
    after = page.at(-1)?.position ?? null;
    if (after === null) return 0;
  }
}

const cancel: Action = async ({ output }, options, gateway, app) => {
  const id = named(options, 'cancel TOOL_RUN');
  const outcome = await gateway.gateway.cancel(id, options.reason ?? 'by hand', app.principal);
  const told = { cancelled: 'cancelled', stopping: 'asked to stop', ended: 'has ended already' }[outcome];
  output.result({ tool_run_id: id, outcome }, `${id} ${told}`);
  return outcome === 'ended' ? 1 : 0;
};

const pin: Action = async ({ output }, options, gateway, app) => {
  const { yes = false, seen } = options;
  const changes = await pinTools(gateway, app, named(options, 'pin SOURCE or TOOL'), { yes, seen });
  if (output.json) for (const change of changes) output.line(change, '');
  else output.result(null, definitionsText(changes, output, yes));
  return changes.some((change) => change.state !== 'pinned' && !yes) ? 4 : 0;
};

const switched =
  (off: boolean): Action =>
  async ({ output }, options, gateway, app) => {
    const scope = options.name ?? '*';
    if (scope !== '*') await assertScope(gateway, app, scope);
    await app.store.switchTool(scope, off, options.reason ?? 'by hand', app.principal);
    const wider = (await app.store.switches())
      .filter((row) => row.off === 1 && row.scope !== scope && (row.scope === '*' || scope.startsWith(`${row.scope}.`)))
      .map((row) => row.scope);
    const still =
      off || wider.length === 0
        ? ''
        : `, but no call of it is made: ${wider.map(scopeText).join(' and ')} is still switched off`;
    output.result(
      { scope, off, still_off: off ? [] : wider },
      `${scopeText(scope)} is switched ${off ? 'off: no call is made' : `on${still}`}`,
    );
    return 0;
  };

function scopeText(scope: string): string {
  return scope === '*' ? 'the whole gateway' : `\`${scope}\``;
}

const ACTIONS: Readonly<Record<string, Action>> = {
  ls,
  run,
  show,
  cancel,
  pin,
  login: (context, options, gateway) => logIn(context, gateway, named(options, 'login SOURCE')),
  disable: switched(true),
  enable: switched(false),
};

function named(options: ToolOptions, usage: string): string {
  if (options.name === undefined) throw new ProctorError('usage', `which one? \`proctor tool ${usage}\``);
  return options.name;
}

/** The arguments: JSON text, a file, or `name=value` pairs, whose values are JSON where they can be and text otherwise. */
async function argumentsOf({ cwd }: CommandContext, { args, arg, argsFile }: ToolOptions): Promise<unknown> {
  if ([args, arg, argsFile].filter((given) => given !== undefined).length > 1)
    throw new ProctorError(
      'usage',
      `${counted(2, 'way')} to give arguments at once; use one of --args, --arg and --args-file`,
    );
  if (argsFile !== undefined) {
    const bytes = await readRegular(path.resolve(cwd, argsFile), MOST_ARGS_BYTES).catch((error: Error) => {
      throw new ProctorError('usage', `\`${argsFile}\` ${error.message}`, { cause: error });
    });
    return bytes.toString('utf8');
  }
  if (args !== undefined) return args;
  const pairs = (arg ?? []).map((pair) => {
    const at = pair.indexOf('=');
    if (at < 1) throw new ProctorError('usage', `\`${pair}\` is no NAME=VALUE`);
    return [pair.slice(0, at), jsonOrText(pair.slice(at + 1))] as const;
  });
  const twice = pairs.find(([name], index) => pairs.findIndex(([other]) => other === name) < index);
  if (twice !== undefined) throw new ProctorError('usage', `--arg ${twice[0]}=… is given twice`);
  return Object.fromEntries(pairs);
}

function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text; // a plain word needs no quotes
  }
}
