import { resolve } from 'node:path';
import { z } from 'zod';
import { type AgentAnswer, type AgentKind, agentFailure } from '../../contract/agent.ts';
import { excerpt } from '../transport/excerpt.ts';
import { type ModuleOutcome, openModuleHost } from '../transport/module-host.ts';
import { parseEnvelope } from './envelope-parse.ts';

const config = z.strictObject({
  module: z.strictObject({
    path: z.string().min(1).describe('File of the module (.ts, .js, .mjs), relative to the profile'),
    export: z.string().min(1).default('default').describe('Exported async (request) => envelope or text'),
  }),
});

/** Agent kind `module`: an exported `async (request, { signal }) => envelope | text` that runs in a worker thread. */
export const module: AgentKind<typeof config> = {
  kind: 'module',
  config,
  code: ({ module: { path } }) => [path],
  async open(context) {
    const { path, export: exportName } = context.config.module;
    const host = await openModuleHost({
      path: resolve(context.base_dir, path),
      shown_path: path,
      export_name: exportName,
    });
    return {
      invoke: async (request, { signal, timeout_ms }) =>
        answer(await host.call(request, { signal, timeout_ms }), `${path}#${exportName}`, timeout_ms),
      close: () => host.close(),
    };
  },
};

function answer(outcome: ModuleOutcome, name: string, timeoutMs: number): AgentAnswer {
  switch (outcome.type) {
    case 'value': {
      const parsed = parseEnvelope(outcome.value);
      return parsed.type === 'envelope'
        ? parsed
        : agentFailure('agent', 'invalid_output', `\`${name}\` returned no envelope: ${parsed.problem}`);
    }
    case 'error':
      return agentFailure('agent', 'module_error', `\`${name}\` failed: ${excerpt(outcome.message, 1_024)}`, {
        evidence: { stack: outcome.stack === null ? null : excerpt(outcome.stack, 4_096) },
      });
    case 'timeout':
      return agentFailure('agent', 'timeout', `\`${name}\` gave no answer within ${timeoutMs} ms`, { timed_out: true });
    case 'aborted':
      return agentFailure('infrastructure', 'aborted', `the call of \`${name}\` was aborted`);
    case 'crashed':
      return agentFailure(
        'infrastructure',
        'thread_lost',
        `the thread of \`${name}\` was lost: ${excerpt(outcome.message, 1_024)}`,
      );
    default:
      return outcome satisfies never;
  }
}
