/**
 * The agent of the chaos and integration tests, in a process of its own: answers by case id alone, so that every run gets the same
 * answers, after 20–80 ms (or what its arguments say). Prints its port as one JSON line and ends with its standard input.
 *
 *   node chaos-agent.ts [--from-ms 20] [--to-ms 80] [--gate]
 *
 * With `--gate` it holds every answer until `GET /open` (or `/release`, after which it holds those that come next), and tells at
 * `GET /held` how many it holds.
 */
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { parseArgs } from 'node:util';
import { agentAnswer, hashOf } from './chaos-answers.ts';

const { values } = parseArgs({
  options: {
    'from-ms': { type: 'string', default: '20' },
    'to-ms': { type: 'string', default: '80' },
    gate: { type: 'boolean', default: false },
  },
});
const from = Number(values['from-ms']);
const span = Number(values['to-ms']) - from + 1;
const waiting = new Set<() => void>();
let calls = 0;
let open = !values.gate;

const server = createServer(async (request, response) => {
  if (request.url === '/held') return reply(response, { held: waiting.size, calls });
  if (request.url === '/open' || request.url === '/release') {
    open = request.url === '/open';
    for (const answer of waiting) answer();
    waiting.clear();
    return reply(response, { open });
  }
  const { case: item } = JSON.parse(await text(request)) as { case: { case_id: string } };
  calls += 1;
  const answer = () => reply(response, { text: agentAnswer(item.case_id) });
  if (open) setTimeout(answer, from + (hashOf(item.case_id) % span));
  else {
    waiting.add(answer);
    response.on('close', () => waiting.delete(answer)); // the caller gave up
  }
});
server.keepAliveTimeout = 600_000; // an idle connection that is closed under a client would be a fault of the agent's
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${JSON.stringify({ port: (server.address() as AddressInfo).port })}\n`);
});
process.stdin.on('end', () => process.exit(0)).resume();

function reply(response: ServerResponse, body: unknown): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
