import { describeRun } from '../../engine/describe.ts';
import { findRun } from '../../engine/run.ts';
import type { Command } from '../context.ts';
import { duration, number, percent, table } from '../format.ts';
import { printable, type Style } from '../output.ts';

const COLOURS: Readonly<Record<string, Style>> = { pass: 'green', fail: 'red', inconclusive: 'yellow', unknown: 'dim' };

/** `proctor runs`: the runs of the store by their last revisions, newest first. */
export const runs: Command<{ readonly limit: number; readonly after?: string }> = async (context, options) => {
  await using app = await context.openApp({ existing: true });
  const { output } = context;
  const after = options.after === undefined ? null : (await findRun(app.store, options.after)).run_id;
  const found = await app.store.runs({ after, limit: options.limit });
  const documents = await Promise.all(found.map((run) => describeRun(app.store, run)));
  if (output.json) for (const document of documents) output.line(document, '');
  else if (documents.length === 0)
    output.note(
      after === null
        ? `proctor: ${app.places.store} holds no run yet; \`proctor run PROFILE\` makes one`
        : `proctor: no run is older than ${after}`,
    );
  else {
    const rows = documents.map((document) => [
      document.run_id,
      document.paused === null ? document.status : output.style('yellow', 'paused'),
      `${output.style(COLOURS[document.gate_status] ?? 'dim', document.gate_status)}${document.revision === null ? '' : output.style('dim', ` (revision ${document.revision.number})`)}`,
      document.pass_rate === null ? '-' : percent(document.pass_rate),
      number(document.executions.total),
      document.duration_ms === null ? '-' : duration(document.duration_ms),
      printable(`${document.profile.profile_id} · ${document.agent.name} ${document.agent.version}`),
    ]);
    output.result(
      null,
      table([
        ['run', 'status', 'gate', 'passed', 'executions', 'duration', 'what'].map((title) =>
          output.style('dim', title),
        ),
        ...rows,
      ]),
    );
  }
  return 0;
};
