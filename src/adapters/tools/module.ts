import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { ProctorError } from '../../contract/problem.ts';
import { type ToolOutput, type ToolSourceKind, textOutput, toolFailure } from '../../contract/tool.ts';
import { mapTexts } from '../../lib/json-texts.ts';
import { programFile } from '../../lib/program-file.ts';
import { openRegular } from '../../lib/regular-file.ts';
import { type ModuleHost, openModuleHost } from '../transport/module-host.ts';
import { describedTools, unavailable } from './described.ts';

const config = z.strictObject({
  path: z.string().min(1).describe('a .ts, .js or .mjs file that exports `tools`'),
  config: z
    .record(z.string(), z.json())
    .default({})
    .describe(`handed to every run; \${secret:NAME} is replaced by the secret`),
});

const LOAD_MS = 30_000;
const MOST_RESULT_BYTES = 4 * 1024 * 1024;

/** `module`: tools that are functions of a module of the project, in a thread of their own. */
export const moduleTools: ToolSourceKind<typeof config> = {
  kind: 'module',
  config,
  own: true,
  async open({ name, config: { path: file, config: options }, base_dir, resolve, note }) {
    const absolute = path.resolve(base_dir, file);
    let host: Promise<ModuleHost> | null = null;
    const thread = () => {
      host ??= openModuleHost({
        path: fileURLToPath(programFile(import.meta.url, './module-entry')),
        export_name: 'serve',
        shown_path: file,
        max_result_bytes: MOST_RESULT_BYTES,
        output: note,
      });
      return host;
    };
    return {
      async listTools(signal) {
        await openRegular(absolute).then(
          (handle) => handle.close(),
          (error: Error) => {
            throw unavailable(name, `cannot be loaded: \`${file}\` ${error.message}`, error);
          },
        );
        const outcome = await (await thread()).call({ type: 'list', path: absolute }, { signal, timeout_ms: LOAD_MS });
        if (outcome.type === 'value')
          return describedTools((outcome.value as Record<string, unknown>[]).map(inMcpMembers));
        throw unavailable(
          name,
          `cannot be loaded: \`${file}\`: ${'message' in outcome ? outcome.message : outcome.type}`,
        );
      },
      async invokeTool({ name: tool, arguments: input, idempotency_key, timeout_ms, signal }) {
        let settings: unknown;
        try {
          settings = mapTexts(options, resolve);
        } catch (error) {
          if (!ProctorError.is(error)) throw error;
          return toolFailure(error.code, error.message, { sent: false });
        }
        const request = {
          type: 'call',
          path: absolute,
          name: tool,
          arguments: input,
          idempotency_key,
          config: settings,
        };
        const outcome = await (await thread()).call(request, { signal, timeout_ms });
        switch (outcome.type) {
          case 'value':
            return { type: 'ok', output: outputOf(outcome.value) };
          case 'error':
            return toolFailure('tool_error', outcome.message);
          case 'timeout':
            return { type: 'timeout', message: `the tool gave no answer within ${timeout_ms} ms` };
          case 'aborted':
            return { type: 'cancelled', message: 'the call was stopped' };
          case 'crashed':
            return toolFailure('tool_crashed', outcome.message);
          default:
            return outcome satisfies never;
        }
      },
      async close() {
        await (await host)?.close();
      },
    };
  },
};

/** A module writes snake_case as all of Proctor's files do. */
function inMcpMembers(tool: Record<string, unknown>): Record<string, unknown> {
  const { input_schema, output_schema, ...rest } = tool;
  const set = { ...rest, inputSchema: input_schema, outputSchema: output_schema };
  return Object.fromEntries(Object.entries(set).filter(([, value]) => value !== undefined && value !== null));
}

/** A text is content; anything else is data, and content that shows it. An object that has `content` already is MCP's own form. */
function outputOf(value: unknown): ToolOutput {
  if (typeof value === 'string') return textOutput(value);
  if (typeof value === 'object' && value !== null && Array.isArray((value as { content?: unknown }).content)) {
    const { content, structured = null } = value as { content: ToolOutput['content']; structured?: unknown };
    return { content, structured };
  }
  return textOutput(JSON.stringify(value), value);
}
