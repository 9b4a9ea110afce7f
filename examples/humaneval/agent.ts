/**
 * An HTTP agent for HumanEval that answers with the canonical solutions, so that the whole road can be tried without a model.
 *
 *   node examples/humaneval/agent.ts --data HumanEval.jsonl.gz [--port 4164] [--break HumanEval/N]…
 *
 * Prints one JSON line when it listens. `--break` answers that problem with a solution that raises.
 */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { parseArgs } from 'node:util';
import { gunzipSync } from 'node:zlib';

const BROKEN = "    raise NotImplementedError('broken on purpose')\n";

const { values } = parseArgs({
  options: {
    data: { type: 'string' },
    port: { type: 'string', default: '4164' },
    break: { type: 'string', multiple: true, default: [] },
  },
});
if (values.data === undefined) throw new Error('no problems to answer; name the file: --data HumanEval.jsonl.gz');
const solutions = readSolutions(values.data);
for (const id of values.break) {
  if (!solutions.has(id))
    throw new Error(`\`--break ${id}\` is not in \`${values.data}\`; ids are written HumanEval/0`);
  solutions.set(id, BROKEN);
}

const server = createServer(async (request, response) => {
  const [status, body] = answer(await text(request));
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
});
server.listen(Number(values.port), '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  process.stdout.write(
    `${JSON.stringify({ url: `http://127.0.0.1:${port}/invoke`, problems: solutions.size, broken: values.break })}\n`,
  );
});

/** Status and body: the completion as the envelope's text, or what is wrong with the request. */
function answer(body: string): [number, unknown] {
  let id: unknown;
  try {
    id = (JSON.parse(body) as { case?: { case_id?: unknown } }).case?.case_id;
  } catch {
    return [400, { error: 'the body is not JSON' }];
  }
  const completion = typeof id === 'string' ? solutions.get(id) : undefined;
  return completion === undefined ? [404, { error: `no solution for case \`${id}\`` }] : [200, { text: completion }];
}

function readSolutions(path: string): Map<string, string> {
  const bytes = readFileSync(path);
  const lines = (path.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('utf8').split('\n');
  const rows = lines
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as { task_id: string; canonical_solution: string });
  return new Map(rows.map((row) => [row.task_id, row.canonical_solution]));
}
