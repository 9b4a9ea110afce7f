import { resolve } from 'node:path';
import { ProctorError } from '../../../contract/problem.ts';
import { type ModuleOutcome, openModuleHost } from '../../transport/module-host.ts';
import type { CustomEvaluator } from './custom-evaluator.ts';
import { parseScore, scorerArgument, thresholdOf } from './scorer.ts';

const MAX_FINDING_BYTES = 1024 * 1024;

/** The evaluator `module:PATH#EXPORT`: a function that answers a finding or a score, in a worker thread. */
export function moduleEvaluator(ref: string): CustomEvaluator {
  const [path = '', exportName = 'default'] = ref.slice('module:'.length).split('#', 2);
  if (path === '' || exportName === '')
    throw new ProctorError('invalid_profile', `the evaluator \`${ref}\` names no module; write \`module:PATH#EXPORT\``);
  return {
    code: [path],
    async open({ base_dir, config, timeout_ms, memory_mb, redact }) {
      checkThreshold(config, ref);
      const host = await openModuleHost({
        path: resolve(base_dir, path),
        shown_path: path,
        export_name: exportName,
        max_result_bytes: MAX_FINDING_BYTES,
        max_heap_mb: memory_mb,
        max_memory_mb: memory_mb,
        ends_processes: true,
        redact,
      });
      return {
        external: true,
        async evaluate(input, { signal }) {
          const argument = scorerArgument(input, config);
          let outcome = await host.call(argument, { signal, timeout_ms });
          // The thread was lost by another case's fault: once more in a new one.
          if (outcome.type === 'crashed') outcome = await host.call(argument, { signal, timeout_ms });
          return parseScore(answerOf(outcome, ref, timeout_ms), config, ref);
        },
        close: () => host.close(),
      };
    },
  };
}

function answerOf(outcome: ModuleOutcome, ref: string, timeoutMs: number): unknown {
  switch (outcome.type) {
    case 'value':
      return outcome.value;
    case 'timeout':
      throw new Error(`\`${ref}\` gave no finding within ${timeoutMs} ms`);
    case 'aborted':
      throw new Error(`\`${ref}\` was aborted`);
    case 'error':
    case 'crashed':
      throw new Error(`\`${ref}\` failed: ${outcome.message}`);
    default:
      return outcome satisfies never;
  }
}

function checkThreshold(config: Readonly<Record<string, unknown>>, ref: string): void {
  try {
    thresholdOf(config, ref);
  } catch (error) {
    throw new ProctorError('invalid_profile', (error as Error).message, { cause: error });
  }
}
