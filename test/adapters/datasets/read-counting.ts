/**
 * A child process of streaming.test.ts: reads the dataset named on the command line, keeps the ids (as a planner does)
 * and prints how many cases and which problems there were. It runs with a small heap, so that holding the rows would end it.
 */
import { openDataset } from '../../../src/adapters/datasets/index.ts';

const [path = ''] = process.argv.slice(2);
const ids: string[] = [];
const problems: string[] = [];
for await (const item of openDataset({ path, shown_path: path, fields: {}, signal: new AbortController().signal })
  .items) {
  if (item.type === 'case') ids.push(item.case.id);
  else problems.push(`${item.problem.line} ${item.problem.message}`);
}
const peakMb = Math.round(process.resourceUsage().maxRSS / 1024);
process.stdout.write(
  JSON.stringify({ count: ids.length, distinct: new Set(ids).size, last: ids.at(-1), problems, peakMb }),
);
