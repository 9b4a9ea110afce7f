// A judge that needs no key: speaks the wire format of OpenAI's chat completions and grades by counting words. It stands in for a model so
// that the example runs anywhere; name a real endpoint in JUDGE_URL and JUDGE_KEY for real grades.
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';

const words = (value) =>
  new Set(
    String(value)
      .toLowerCase()
      .match(/[\p{L}\d]+/gu),
  );
const share = (wanted, given) => [...wanted].filter((word) => given.has(word)).length / Math.max(1, wanted.size);

const server = createServer(async (request, response) => {
  const { model, messages } = JSON.parse(await text(request));
  const content = messages.findLast(({ role }) => role === 'user').content;
  const { expected, context, answer } = JSON.parse(typeof content === 'string' ? content : content[0].text);
  const said = words(answer);
  const correct = Math.round(4 * Math.min(1, 1.4 * share(words(expected), said)));
  const grounded = context.some((item) => item.text.includes(answer)) ? 4 : 1;
  const criteria = [
    { id: 'correct', reason: `The answer has what was expected to ${correct} of 4 parts.`, points: correct },
    {
      id: 'grounded',
      reason: grounded === 4 ? 'It is a sentence of the documents.' : 'The documents do not say so.',
      points: grounded,
    },
  ];
  response.writeHead(200, { 'content-type': 'application/json' });
  const message = { role: 'assistant', content: JSON.stringify({ criteria }) };
  response.end(
    JSON.stringify({
      id: 'chatcmpl-1',
      object: 'chat.completion',
      created: 1,
      model,
      choices: [{ index: 0, finish_reason: 'stop', message }],
      usage: { prompt_tokens: 500, completion_tokens: 60, total_tokens: 560 },
    }),
  );
});
server.listen(Number(process.argv[2] ?? 4173), '127.0.0.1', () => process.stdout.write('judge ready\n'));
