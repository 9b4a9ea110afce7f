import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import path from 'node:path';
import { FORMS } from '../core/redaction/forms.ts';

/** The secrets that everything in these runs tries to tell. */
export const SECRETS: Readonly<Record<string, string>> = {
  WORD: 'pässwört-1234',
  MARKUP: 'a/b"c<d>',
  PIN: '20261122',
  PHRASE: 'Correct horse, battery staple',
};

const AT_ONCE = 6; // forms in one answer: what is cut at 2 KiB still shows the last of them

/** Cases that ask each channel for every form of every secret, some at once; the data itself holds none. */
export function channelCases(
  channels: readonly string[],
  secrets = SECRETS,
): { id: string; input: unknown; expected: string }[] {
  return channels.flatMap((channel) =>
    Object.keys(secrets).flatMap((name) =>
      Array.from({ length: Math.ceil(FORMS.length / AT_ONCE) }, (_, part) => ({
        id: `${channel}-${name}-${part}`,
        input: { channel, name, from: part * AT_ONCE },
        expected: 'yes',
      })),
    ),
  );
}

/** Some forms of a secret, as a case asks for them. */
export function spoken(
  { name, from }: { readonly name: string; readonly from: number },
  secrets: typeof SECRETS = SECRETS,
): string[] {
  const value = secrets[name] ?? '';
  return FORMS.slice(from, from + AT_ONCE).map(({ write }) => write(value));
}

/** What an agent returns through a channel of the envelope. */
export function envelopeOf(channel: string, forms: readonly string[], name: string): unknown {
  const said = forms.join(' | ');
  const keyed = Object.fromEntries(forms.map((form, index) => [form, index]));
  switch (channel) {
    case 'text':
      return { text: said };
    case 'structured':
      return { structured: { list: forms, deep: [{ said }], number: Number(SECRETS[name]) || 0 } };
    case 'keys':
      return { structured: { keyed }, metadata: keyed };
    case 'tool_calls':
      return { text: 'yes', tool_calls: [{ name: said, arguments: keyed, result: { files: forms } }] };
    case 'trace':
      return { text: 'yes', trace: [said, { step: forms }] };
    case 'usage':
      return { text: 'yes', usage: { input_tokens: Number(SECRETS['PIN']), output_tokens: 1 } };
    default:
      return { text: 'yes', metadata: { [channel]: said }, unknown_member: said };
  }
}

/** An agent behind HTTP that says what it is asked to, through the channel it is asked to. */
export async function leakyServer(secrets = SECRETS): Promise<{ readonly url: string } & AsyncDisposable> {
  const server = createServer((request, response) => void answer(request, response, secrets));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : 0;
  return {
    url: `http://127.0.0.1:${port}/`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function answer(request: IncomingMessage, response: ServerResponse, secrets: typeof SECRETS): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const asked = JSON.parse(Buffer.concat(chunks).toString()) as {
    case: { input: { channel: string; name: string; from: number } };
  };
  const { channel, name, from } = asked.case.input;
  const forms = spoken({ name, from }, secrets);
  const said = forms.join(' | ');
  const padding = '-'.repeat(2_048 - Math.floor(said.length / 2)); // the excerpt of an error ends within the secrets
  if (channel === 'header')
    response.writeHead(400, {
      'x-request-id': encodeURIComponent(said),
      server: Buffer.from(said).toString('base64'),
      location: said.replace(/[^ -~]/g, '?'),
    });
  if (channel === 'error') response.writeHead(500, { 'content-type': 'text/plain' });
  if (channel === 'header' || channel === 'error') return void response.end(said);
  if (channel === 'cut') return void response.writeHead(500).end(`${padding}${said}`);
  if (channel === 'invalid')
    return void response.writeHead(200, { 'content-type': 'application/json' }).end(`{"text": ${said}`);
  if (channel === 'plain') return void response.writeHead(200, { 'content-type': 'text/plain' }).end(said);
  const document = envelopeOf(channel, forms, name);
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(document));
}

const WRITTEN = (at: string) => `import { envelopeOf, spoken } from ${JSON.stringify(at)};\n`;

const FILES = `import { readFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
`;

/** Modules and programs of a project whose agent, evaluators and tools tell secrets in every place that they may write to. */
export async function writeLeakers(folder: string): Promise<void> {
  const here = WRITTEN(import.meta.filename);
  await mkdir(folder, { recursive: true });
  const files: Record<string, string> = {
    'agent.ts': `${here}${FILES}export default ({ case: { input } }) => {
  const forms = spoken(input);
  console.error(forms.join('\\n'));
  if (input.channel === 'thrown') throw Object.assign(new Error('-'.repeat(900) + forms.join(' | ')), { name: forms[0] });
  if (input.channel === 'missing') readFileSync('/nowhere/' + forms.join(' | '));
  if (input.channel === 'files') {
    const names = forms.map((form) => path.join('/tmp', form, form + '.txt'));
    return { structured: { files: names, urls: names.map((name) => pathToFileURL(name).href) }, trace: names.map(path.parse) };
  }
  return envelopeOf(input.channel, forms, input.name);
};
`,
    'grade.ts': `${here}${FILES}
export const missing = ({ case: { input } }) => readFileSync('/nowhere/' + spoken(input).join(' | '));
export const says = ({ case: { input } }) => ({ status: 'passed', reason: spoken(input).join(' | '), evidence: { [spoken(input)[0]]: spoken(input), n: ${SECRETS['PIN']} } });
export const throws = ({ case: { input } }) => { throw new Error(spoken(input).join(' | ')); };
export const came = ({ case: { input }, envelope }) => {
  const sent = envelopeOf(input.channel, spoken(input), input.name);
  const { text, structured } = sent;
  const same = JSON.stringify([envelope.text, envelope.structured]) === JSON.stringify([text ?? null, structured ?? null]);
  return { status: same ? 'passed' : 'failed', reason: 'the answer ' + (same ? 'is' : 'is not') + ' as it came' };
};
`,
    'program.ts': `${here}
let text = '';
for await (const chunk of process.stdin) text += chunk;
const { case: { input } } = JSON.parse(text);
const said = spoken(input).join(' | ');
process.stderr.write(said);
if (input.channel === 'stdout') process.stdout.write(said);
process.exitCode = input.channel === 'exit' ? 3 : 0;
`,
    'grade-program.ts': `${here}
let text = '';
for await (const chunk of process.stdin) text += chunk;
process.stderr.write('-'.repeat(700) + spoken(JSON.parse(text).case.input).join(' | '));
process.exitCode = 1;
`,
  };
  for (const [name, text] of Object.entries(files)) await writeFile(path.join(folder, name), text);
}

/** Every file under a folder, as bytes. */
export async function allBytes(folder: string): Promise<{ readonly name: string; readonly bytes: Buffer }[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return await Promise.all(
    entries
      .filter((entry) => entry.isFile())
      .map(async ({ parentPath, name }) => ({ name, bytes: await readFile(path.join(parentPath, name)) })),
  );
}

/** Forms of secrets that some bytes hold, also as a string of JSON holds them. */
export function leaks(bytes: Buffer): string[] {
  return Object.entries(SECRETS).flatMap(([secret, value]) =>
    FORMS.filter(({ write }) => {
      const form = write(value);
      return bytes.includes(form) || bytes.includes(JSON.stringify(form).slice(1, -1));
    }).map(({ name }) => `${secret} ${name}`),
  );
}
