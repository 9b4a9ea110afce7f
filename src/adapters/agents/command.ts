import { statSync } from 'node:fs';
import { isAbsolute, join, normalize, resolve } from 'node:path';
import { z } from 'zod';
import {
  type AgentAnswer,
  type AgentContext,
  type AgentFailure,
  type AgentKind,
  type AgentRequest,
  agentFailure,
  envelope,
} from '../../contract/agent.ts';
import { diagnostic, ProctorError } from '../../contract/problem.ts';
import { type ProcessResult, runProcess } from '../../lib/process.ts';
import { commandEnvironment, findProgram } from '../transport/command-environment.ts';
import { ending, excerpt } from '../transport/excerpt.ts';
import { isRecord, parseEnvelope } from './envelope-parse.ts';
import { execAnswer, execArguments } from './promptfoo-exec.ts';

const config = z.strictObject({
  command: z
    .array(z.string())
    .min(1)
    .refine((argv) => argv[0] !== '', { error: 'names no program' })
    .describe('Program and arguments; a relative program with a slash starts from the profile'),
  cwd: z.string().min(1).default('.').describe('Working folder, relative to the profile'),
  env: z
    .record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must be the name of an environment variable'), z.string())
    .default({}),
  max_output_bytes: z
    .number()
    .int()
    .positive()
    .default(16 * 1024 * 1024),
  promptfoo: z
    .strictObject({ options: z.record(z.string(), z.json()).default({}) })
    .optional()
    .describe('Call it as promptfoo calls `exec:` providers: prompt, options and context as arguments, text on stdout'),
});
type Config = z.output<typeof config>;

/** Agent kind `command`: a program that gets the request as one line of JSON on stdin and prints its envelope, or text. */
export const command: AgentKind<typeof config> = {
  kind: 'command',
  config,
  code: ({ command: argv, cwd }, baseDir) =>
    argv.flatMap((member, index) => codeFile(member, index === 0 ? '.' : cwd, index === 0, baseDir)),
  async open(context) {
    const { command: argv, cwd, env, max_output_bytes, promptfoo } = context.config;
    const templates = Object.values(env);
    for (const template of templates) context.resolve(template); // a missing secret is found before the run starts
    const program = await findProgram(
      argv[0] ?? '',
      context.base_dir,
      commandEnvironment(context.environment, pathOf(context)),
    );
    if (program === null) throw notFound(argv[0] ?? '');
    return {
      async invoke(request, { signal, timeout_ms }) {
        const added = Object.fromEntries(
          Object.entries(env).map(([name, template]) => [name, context.resolve(template)]),
        );
        const more = promptfoo === undefined ? [] : execArguments(request, promptfoo.options);
        const result = await runProcess([program, ...argv.slice(1), ...more], {
          cwd: resolve(context.base_dir, cwd),
          env: { ...commandEnvironment(context.environment, added), ...idVariables(request) },
          stdin: promptfoo === undefined ? `${JSON.stringify(request)}\n` : '',
          timeout_ms,
          max_stdout_bytes: max_output_bytes,
          signal,
        });
        return answer(result, (text) => context.redact(text), promptfoo !== undefined);
      },
      close: async () => undefined,
    };
  },
};

const UNUSABLE: ReadonlySet<string> = new Set(['ENOENT', 'EACCES', 'EPERM', 'ENOTDIR', 'ENOEXEC', 'ELOOP']);

function answer(result: ProcessResult, redact: AgentContext<Config>['redact'], promptfoo: boolean): AgentAnswer {
  const evidence = {
    exit_code: result.exit_code,
    signal: result.signal,
    duration_ms: result.duration_ms,
    stderr: ending(redact(result.stderr), 2_048),
    stdout: excerpt(redact(result.stdout.toString('utf8')), 1_024),
  };
  const failed = (fault: AgentFailure['fault'], code: string, more: Partial<AgentFailure> = {}) =>
    agentFailure(fault, code, redact(result.message), { evidence, ...more });
  switch (result.reason) {
    case 'timeout':
      return failed('agent', 'timeout', { timed_out: true });
    case 'aborted':
      return failed('infrastructure', 'aborted');
    case 'oversize':
      return failed('agent', 'oversize_output');
    case 'spawn_failed': // a program that is gone or may not be executed; else the machine is short of something
      return result.spawn_code === 'E2BIG'
        ? failed('agent', 'prompt_too_long')
        : failed(UNUSABLE.has(result.spawn_code ?? '') ? 'configuration' : 'infrastructure', 'spawn_failed');
    case 'exit':
      if (result.signal !== null) return failed('agent', 'killed_by_signal');
      // A shell's way to say that a command may not be executed, or is not there.
      if (result.exit_code === 126 || result.exit_code === 127)
        return failed('agent', 'exit_code', { class: `exit_${result.exit_code}`, suspect: true });
      if (result.exit_code !== 0) return failed('agent', 'exit_code');
      if (promptfoo) return execAnswer(result.stdout.toString('utf8'), result.stderr) ?? failed('agent', 'only_stderr');
      return printed(result.stdout.toString('utf8'));
    default:
      return result.reason satisfies never;
  }
}

/** A JSON object is the envelope; anything else is text, without the newline that ends it. */
function printed(stdout: string): AgentAnswer {
  const value = stdout.trimStart().startsWith('{') ? parsedJson(stdout) : undefined;
  if (!isRecord(value)) return { type: 'envelope', envelope: envelope({ text: stdout.replace(/\r?\n$/, '') }) };
  const parsed = parseEnvelope(value);
  return parsed.type === 'envelope'
    ? parsed
    : agentFailure(
        'agent',
        'invalid_output',
        `the JSON object that the command printed is not an envelope: ${parsed.problem}`,
      );
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // not JSON is text, by contract
  }
}

function idVariables(request: AgentRequest): Record<string, string> {
  return {
    PROCTOR_RUN_ID: request.run_id,
    PROCTOR_EXECUTION_ID: request.execution_id,
    PROCTOR_ATTEMPT_ID: request.attempt_id,
    ...(request.gateway === undefined
      ? {}
      : { PROCTOR_MCP_URL: request.gateway.mcp_url, PROCTOR_MCP_TOKEN: request.gateway.token }),
  };
}

function pathOf(context: AgentContext<Config>): Record<string, string> {
  const path = context.config.env['PATH'];
  return path === undefined ? {} : { PATH: context.resolve(path) };
}

/** A member of the command that names a file, relative to the profile; a bare program name is looked up in PATH instead. */
function codeFile(member: string, folder: string, isProgram: boolean, baseDir: string): string[] {
  if (isAbsolute(member) || isAbsolute(folder) || (isProgram && !member.includes('/'))) return [];
  const path = normalize(join(folder, member));
  return isFile(resolve(baseDir, path)) ? [path] : [];
}

function isFile(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch {
    return false; // what cannot be looked at is told when it is to be executed
  }
}

function notFound(program: string): ProctorError {
  const hint = program.includes('/')
    ? 'check the path, which starts from the profile, and its executable bit'
    : 'install it, or write its path';
  const message = `the command \`${program}\` cannot be found or may not be executed`;
  return new ProctorError('invalid_profile', `${message}; ${hint}`, {
    diagnostics: [diagnostic(message, { field: 'agent.command[0]', hint })],
  });
}
