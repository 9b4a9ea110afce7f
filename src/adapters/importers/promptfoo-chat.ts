import { type LeftOut, type Members, members } from './promptfoo-text.ts';

const CHAT_URL = 'https://api.openai.com/v1/chat/completions';
const PASSED_ON = [
  'temperature',
  'max_tokens',
  'max_completion_tokens',
  'top_p',
  'seed',
  'stop',
  'presence_penalty',
  'frequency_penalty',
  'reasoning_effort',
  'response_format',
];
const READ_OF_OPENAI = [...PASSED_ON, 'apiKeyEnvar', 'apiBaseUrl', 'apiHost', 'organization'];
const INTERFACES = new Set([
  'chat',
  'completion',
  'embedding',
  'embeddings',
  'responses',
  'assistant',
  'image',
  'moderation',
  'realtime',
]);
const COMPLETIONS = /^(?:davinci|babbage|curie|ada|text-|code-|gpt-3\.5-turbo-instruct)/;

/** The endpoint of `openai:MODEL` and `openai:chat:MODEL`; null for OpenAI's other interfaces. */
export function openaiEndpoint(id: string, config: Members, leftOut: LeftOut): Members | null {
  const model = id.replace(/^openai:(?:chat:)?/, '');
  const other = model.includes(':') && !model.startsWith('ft:');
  if (model === '' || other || INTERFACES.has(model) || COMPLETIONS.test(model)) return null;
  leftOut.addUnread(config, READ_OF_OPENAI, 'providers[0].config');
  const extra: Record<string, unknown> = {};
  for (const name of PASSED_ON) {
    const value = config[name];
    if (value === undefined) continue;
    if (JSON.stringify(value).includes('file://') || isTemplate(value))
      leftOut.add(`providers[0].config.${name}: it is a file or a template, which is not read`);
    else extra[name] = value;
  }
  const { apiKeyEnvar, apiBaseUrl, apiHost, organization } = config;
  const root =
    typeof apiBaseUrl === 'string' ? apiBaseUrl : typeof apiHost === 'string' ? `https://${apiHost}/v1` : null;
  return {
    url: root === null ? CHAT_URL : `${root.replace(/\/$/, '')}/chat/completions`,
    headers: {
      authorization: `Bearer \${secret:${typeof apiKeyEnvar === 'string' ? apiKeyEnvar : 'OPENAI_API_KEY'}}`,
      ...(typeof organization === 'string' ? { 'openai-organization': organization } : {}),
    },
    body: { preset: 'openai_chat', model, ...(Object.keys(extra).length === 0 ? {} : { members: extra }) },
    response: { preset: 'openai_chat' },
  };
}

const READ_OF_HTTP = ['url', 'method', 'headers', 'body', 'transformResponse', 'responseParser'];

/** The endpoint of an `http` provider that speaks chat completions, or why there is none. */
export function chatEndpoint(url: unknown, config: Members): Members | string {
  if (typeof url !== 'string' || isTemplate(url)) return 'its `url` is missing or a template';
  const strange = Object.keys(config).find((name) => !READ_OF_HTTP.includes(name));
  if (strange !== undefined) return `its \`config.${strange}\` cannot be carried over`;
  if ((config['method'] ?? 'POST') !== 'POST') return `its method is ${String(config['method'])}`;
  const body = chatBody(config['body']);
  if (typeof body === 'string') return body;
  const headers = headersOf(members(config['headers']));
  if (typeof headers === 'string') return headers;
  const response = responseOf(config['transformResponse'] ?? config['responseParser']);
  if (response === null) return 'its `transformResponse` is code';
  return { url, headers, body, response };
}

/** A body of chat messages, a system message first where there is one, the prompt last. */
function chatBody(given: unknown): Members | string {
  const { model, messages, ...extra } = members(given);
  const [first, second, ...others] = Array.isArray(messages) ? messages.map(members) : [];
  const system = second === undefined ? undefined : first;
  const user = second ?? first;
  const prompted = user?.['role'] === 'user' && /^\{\{\s*prompt\s*\}\}$/.test(String(user['content']));
  const fixed = system === undefined || (system['role'] === 'system' && typeof system['content'] === 'string');
  if (!prompted || !fixed || others.length > 0 || isTemplate([model, system, extra]))
    return 'its `body` is not a list of chat messages that ends with `{{prompt}}`';
  return {
    preset: 'openai_chat',
    ...(typeof model === 'string' ? { model } : {}),
    ...(system === undefined ? {} : { system: system['content'] }),
    ...(Object.keys(extra).length === 0 ? {} : { members: extra }),
  };
}

/** Headers with `{{env.NAME}}` as references to secrets; a literal credential is not copied. */
function headersOf(given: Members): Members | string {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(given)) {
    if (typeof value !== 'string') return `its header \`${name}\` is not a string`;
    const text = value.replace(/\{\{\s*env\.(\w+)\s*\}\}/g, (_, secret: string) => `\${secret:${secret}}`);
    if (isTemplate(text)) return `its header \`${name}\` is a template`;
    if (text === value && /auth|key|token|secret|cookie/i.test(name))
      return `its header \`${name}\` holds a literal credential; refer to it as \`\${secret:NAME}\``;
    headers[name.toLowerCase()] = text;
  }
  return headers;
}

/** `json.a[0].b` as a JSON pointer; the content of a chat completion as the preset; null for code. */
function responseOf(transform: unknown): Members | null {
  if (transform === undefined) return { text: '' };
  if (typeof transform !== 'string') return null;
  const plain = transform.trim();
  if (/^json\.choices\[0\]\.message\.content$/.test(plain)) return { preset: 'openai_chat' };
  if (!/^json(?:\.[A-Za-z_$][\w$]*|\[\d+\]|\[(['"])[^'"\\]*\1\])*$/.test(plain)) return null;
  const tokens = [...plain.matchAll(/\.([\w$]+)|\[(\d+)\]|\[['"]([^'"]*)['"]\]/g)].map(
    ([, name, index, quoted]) => name ?? index ?? quoted ?? '',
  );
  return { text: tokens.map((token) => `/${token.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('') };
}

function isTemplate(value: unknown): boolean {
  return /\{\{|\{%/.test(JSON.stringify(value) ?? '');
}
