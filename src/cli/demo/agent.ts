import { createServer } from 'node:http';
import type { AgentRequest } from '../../contract/agent.ts';
import type { Label } from './tickets.ts';

/**
 * The demo's agent, in a process of its own: an HTTP service on loopback that sorts support tickets by keywords, looks up
 * orders with a tool, takes 20–80 ms, and now and then is overloaded (503), as services are. It errs where keywords mislead.
 */
const KEYWORDS: readonly (readonly [RegExp, Label])[] = [
  [/charged|refund|invoice|payment|paying|card/i, 'billing'],
  [/parcel|delivery|tracking|arrive |arrived/i, 'shipping'],
  [/account|login|sign in|password/i, 'account'],
  [/crash|error|empty/i, 'bug'],
  [/could you add|great to have|would be/i, 'feature_request'],
];

let requests = 0;

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    requests += 1;
    if (requests % 41 === 0) {
      response.writeHead(503, { 'retry-after': '0', 'content-type': 'application/json' }).end('{"error":"overloaded"}');
      return;
    }
    const asked = JSON.parse(Buffer.concat(chunks).toString()) as AgentRequest;
    const answer = JSON.stringify(triage(asked.case.input as { subject: string; body: string }));
    setTimeout(
      () => response.writeHead(200, { 'content-type': 'application/json' }).end(answer),
      20 + ((requests * 37) % 61),
    );
  });
});

function triage({ subject, body }: { subject: string; body: string }): unknown {
  const text = `${subject}\n${body}`;
  const label = KEYWORDS.find(([pattern]) => pattern.test(text))?.[1] ?? 'bug';
  const order = /PR-\d{5}/.exec(text)?.[0];
  return {
    text: `Filed under ${label}.`,
    structured: { label, ...(order === undefined ? {} : { order }) },
    tool_calls:
      order === undefined ? [] : [{ name: 'orders.lookup', arguments: { order }, result: { status: 'known' } }],
    usage: { input_tokens: Math.ceil(text.length / 4) + 120, output_tokens: 24 },
  };
}

server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  process.stdout.write(`${JSON.stringify({ port: typeof address === 'object' ? address?.port : null })}\n`);
});
process.on('disconnect', () => process.exit(0)); // the demo ended
