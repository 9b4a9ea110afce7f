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
      redact: (text) => context.redact(text),
    });
    return {
      invoke: async (request, { signal, timeout_ms }) =>
        answer(await host.call(request, { signal, timeout_ms }), {
          name: `${path}#${exportName}`,
          timeout_ms,
          redact: (text) => context.redact(text),
        }),
      close: () => host.close(),
    };
  },
};

interface Called {
  readonly name: string;
  readonly timeout_ms: number;
  redact(text: string): string;
}

function answer(outcome: ModuleOutcome, { name, timeout_ms, redact }: Called): AgentAnswer {
  switch (outcome.type) {
    case 'value': {
      const parsed = parseEnvelope(outcome.value);
      return parsed.type === 'envelope'
        ? parsed
        : agentFailure('agent', 'invalid_output', `\`${name}\` returned no envelope: ${parsed.problem}`);
    }
    case 'error':
      return agentFailure('agent', 'module_error', `\`${name}\` failed: ${excerpt(redact(outcome.message), 1_024)}`, {
        evidence: { stack: outcome.stack === null ? null : excerpt(redact(outcome.stack), 4_096) },
      });
    case 'timeout':
      return agentFailure('agent', 'timeout', `\`${name}\` gave no answer within ${timeout_ms} ms`, {
        timed_out: true,
      });
    case 'aborted':
      return agentFailure('infrastructure', 'aborted', `the call of \`${name}\` was aborted`);
    case 'crashed':
      return agentFailure(
        'infrastructure',
        'thread_lost',
        `the thread of \`${name}\` was lost: ${excerpt(redact(outcome.message), 1_024)}`,
      );
    default:
      return outcome satisfies never;
  }
}
