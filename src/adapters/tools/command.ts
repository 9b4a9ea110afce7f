import path from 'node:path';
import { z } from 'zod';
import { ProctorError } from '../../contract/problem.ts';
import {
  type ToolAnswer,
  type ToolInvocation,
  type ToolOutput,
  type ToolSourceKind,
  textOutput,
  toolFailure,
  toolNameSchema,
} from '../../contract/tool.ts';
import { runProcess } from '../../lib/process.ts';
import { parseStrictJson } from '../../lib/strict-json.ts';
import { commandEnvironment, findProgram } from '../transport/command-environment.ts';
import { ending, excerpt } from '../transport/excerpt.ts';
import { describedTools } from './described.ts';

const tool = z.strictObject({
  command: z
    .array(z.string())
    .min(1)
    .describe(
      'program and arguments, no shell; `{name}` is replaced by an argument of the call, as one whole argument of the program',
    ),
  description: z.string().default(''),
  title: z.string().optional(),
  input_schema: z.record(z.string(), z.json()),
  output_schema: z.record(z.string(), z.json()).optional(),
  stdin: z
    .enum(['none', 'arguments'])
    .default('none')
    .describe('arguments: the program reads the arguments as one line of JSON'),
  output: z.enum(['text', 'json']).default('text'),
  cwd: z.string().min(1).default('.'),
  env: z.record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/), z.string()).default({}),
});
type CommandTool = z.output<typeof tool>;

const config = z.strictObject({ tools: z.record(toolNameSchema, tool) });

/** `command`: tools that are programs on this machine, outside of any sandbox; only where the project says `local_commands: true`. */
export const commandTools: ToolSourceKind<typeof config> = {
  kind: 'command',
  config,
  own: true,
  async open({ config: { tools }, base_dir, resolve, environment }) {
    return {
      async listTools() {
        return describedTools(
          Object.entries(tools).map(([name, { title, description, input_schema, output_schema }]) => ({
            name,
            description,
            inputSchema: input_schema,
            ...(title === undefined ? {} : { title }),
            ...(output_schema === undefined ? {} : { outputSchema: output_schema }),
          })),
        );
      },
      async invokeTool({ name, arguments: input, idempotency_key, timeout_ms, max_output_bytes, signal, redact }) {
        const settings = Object.hasOwn(tools, name) ? tools[name] : undefined;
        if (settings === undefined) return toolFailure('unknown_tool', `there is no tool \`${name}\``, { sent: false });
        try {
          const argv = settings.command.map((part, index) => filled(part, index, input));
          const added = Object.fromEntries(Object.entries(settings.env).map(([key, text]) => [key, resolve(text)]));
          const env = commandEnvironment(environment, { ...added, PROCTOR_IDEMPOTENCY_KEY: idempotency_key });
          const program = await findProgram(argv[0] ?? '', base_dir, env);
          if (program === null)
            return toolFailure('not_found', `the program \`${argv[0]}\` is not there`, { sent: false });
          const result = await runProcess([program, ...argv.slice(1)], {
            cwd: path.resolve(base_dir, settings.cwd),
            env,
            stdin: settings.stdin === 'arguments' ? `${JSON.stringify(input)}\n` : '',
            timeout_ms,
            max_stdout_bytes: max_output_bytes,
            signal,
          });
          return answerOf(result, settings, redact);
        } catch (error) {
          if (!ProctorError.is(error)) throw error;
          return toolFailure(error.code, error.message, { sent: false });
        }
      },
      async close() {},
    };
  },
};

/**
 * One argument of the program. A value that the caller gives never becomes an option of the program: where it makes up the whole
 * argument and begins with a dash, it is refused.
 */
function filled(part: string, index: number, input: Readonly<Record<string, unknown>>): string {
  return part.replaceAll(/\{([A-Za-z0-9_]+)\}/g, (placeholder, name: string) => {
    const value = Object.hasOwn(input, name) ? input[name] : undefined;
    if (value === undefined || value === null)
      throw new ProctorError('invalid_input', `the command needs the argument \`${name}\``);
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    if (text.includes('\0')) throw new ProctorError('invalid_input', `the argument \`${name}\` holds a NUL character`);
    if (part === placeholder && (text.startsWith('-') || index === 0))
      throw new ProctorError(
        'invalid_input',
        `the argument \`${name}\` is \`${excerpt(text, 40)}\`, which the program would take for an option`,
      );
    return text;
  });
}

function answerOf(
  result: Awaited<ReturnType<typeof runProcess>>,
  { output }: CommandTool,
  redact: ToolInvocation['redact'],
): ToolAnswer {
  const { reason, message, exit_code } = result;
  const stderr = redact(result.stderr);
  const text = new TextDecoder().decode(result.stdout);
  if (reason === 'timeout') return { type: 'timeout', message };
  if (reason === 'aborted') return { type: 'cancelled', message };
  if (reason === 'spawn_failed') return toolFailure('spawn_failed', message, { sent: false });
  if (reason === 'oversize') return toolFailure('oversize_output', message);
  if (exit_code !== 0)
    return toolFailure('exit_code', `${message}${stderr === '' ? '' : `: ${ending(stderr, 500)}`}`, {
      output: textOutput(text),
    });
  if (output === 'text') return { type: 'ok', output: textOutput(text) };
  return { type: 'ok', output: jsonOutput(text) ?? textOutput(text) };
}

function jsonOutput(text: string): ToolOutput | null {
  const parsed = parseStrictJson(text);
  return parsed.type === 'value' && parsed.issues.length === 0 ? textOutput(text.trim(), parsed.value) : null;
}
