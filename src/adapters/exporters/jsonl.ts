import type { Exporter } from '../../contract/exporter.ts';

/** One execution document a line, as `show RUN --executions --json` prints them. */
export const jsonl: Exporter = {
  format: 'jsonl',
  summary: 'one execution document a line',
  extension: 'jsonl',
  async *write({ executions }) {
    for await (const execution of executions()) yield `${JSON.stringify(execution)}\n`;
  },
};
