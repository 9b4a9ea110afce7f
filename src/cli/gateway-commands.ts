import { collect, positive, runKey, whole } from './option-values.ts';
import type { GiveWork, MakeCommand } from './program.ts';

/** The commands of the tool gateway. */
export function gatewayCommands(command: MakeCommand, on: GiveWork): void {
  on(
    command(
      'tool <action> [name]',
      'ls, run, show, cancel, pin, login, disable, enable: the project’s tools, through the gateway',
    )
      .option('--args <json>', 'run: the arguments, as a JSON object')
      .option('--arg <name=value>', 'run: one argument; may be given several times', collect)
      .option('--args-file <file>', 'run: the arguments from a file')
      .option('--wait <ms>', 'run: wait so long for an answer, where policy asks', whole, 0)
      .option('--idempotency-key <key>', 'run: carry the call out at most once under this key', runKey)
      .option('--reason <text>', 'cancel, disable, enable: why')
      .option('--yes', 'pin: let these definitions be called')
      .option('--seen <digest>', 'pin: only if these definitions are what this digest stood for when they were shown')
      .option('--runs', 'ls: recorded calls instead of tools')
      .option('--events', 'show: its events, a line each')
      .option('--run <run>', 'ls --runs: only of this run')
      .option('--status <status>', 'ls --runs: only with this status')
      .option('--limit <n>', 'ls --runs: at most so many', positive, 50),
    async () => (await import('./commands/tool.ts')).tool,
    ['action', 'name'],
  );
  on(
    command('approvals [id]', 'the calls that wait for a person’s answer, or one of them in full')
      .option('--all', 'those that are through, too')
      .option('--limit <n>', 'at most so many', positive, 50),
    async () => (await import('./commands/approvals.ts')).approvals,
    ['id'],
  );
  on(
    command('approve <id>', 'let a call be carried out, once, with exactly these arguments')
      .option('--comment <text>', 'kept with the answer')
      .option('--edit <json>', 'with these arguments instead, where policy lets you')
      .option('--seen <digest>', 'of a long call: the digest at the end of what was shown'),
    async () => (await import('./commands/approve.ts')).approve,
    ['id'],
  );
  on(
    command('deny <id>', 'do not let a call be carried out').option('--comment <text>', 'told to the caller'),
    async () => (await import('./commands/approve.ts')).deny,
    ['id'],
  );
  on(
    command('mcp', 'be an MCP server whose tools are the project’s, gated: on the standard streams, or over HTTP')
      .option('--http [port]', 'over HTTP on this machine, with approvals and tool runs beside; 4780 unless said')
      .option('--as <principal>', 'the agent that calls, where no token says so; agent:mcp unless said')
      .option('--raw-source <source>', 'the tools of this source alone, under their own names')
      .option('--hold-ms <ms>', 'how long a call that waits is kept open at a time', positive, 45_000)
      .option('--open-to <address>', 'listen on this address of the machine instead of loopback')
      .option('--anonymous', 'on loopback only: every program of this machine calls as --as, without a token'),
    async () => (await import('./commands/mcp.ts')).mcp,
  );
  on(
    command('policy <action> [first] [second]', 'check [FILE], test FILE, explain TOOL_RUN, diff OLD NEW, init [FILE]')
      .option('--days <n>', 'diff: calls of the last so many days', positive, 30)
      .option('--run <run>', 'diff: only calls of this run')
      .option('--limit <n>', 'diff: show at most so many', positive, 50)
      .option('--force', 'init: write over a file that exists'),
    async () => (await import('./commands/policy.ts')).policy,
    ['action', 'first', 'second'],
  );
}
