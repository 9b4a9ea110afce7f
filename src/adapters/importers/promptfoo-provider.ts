import path from 'node:path';
import { PLACEHOLDER_AGENT } from '../../contract/profile.ts';
import { chatEndpoint, openaiEndpoint } from './promptfoo-chat.ts';
import { type LeftOut, list, type Members, members } from './promptfoo-text.ts';

/** An agent as a profile writes it; `chat`: a prompt that is a list of messages is sent as such. */
export interface ImportedAgent {
  readonly agent: Members;
  readonly chat: boolean;
}

const READ_OF_PROVIDER = ['id', 'label', 'config', 'env'];
const CURE = 'name your agent in `agent` (docs/agents.md)';

/**
 * The agent of a promptfoo provider. What has no counterpart is never replaced by something that answers: the agent is a placeholder
 * that nothing runs. `from`: the configuration's folder as seen from the profile's.
 */
export function agentOf(provider: unknown, from: string, leftOut: LeftOut): ImportedAgent {
  const given = providerMembers(provider);
  const id = typeof given['id'] === 'string' ? given['id'] : '';
  const label = typeof given['label'] === 'string' && given['label'] !== '' ? given['label'] : id;
  const base = { name: label === '' ? 'agent' : label.slice(0, 200), version: '1' };
  const refused = (why: string): ImportedAgent => {
    leftOut.add(`providers: \`${id || 'none'}\` ${why}; ${CURE}`);
    return { agent: { kind: PLACEHOLDER_AGENT, ...base }, chat: false };
  };
  leftOut.addUnread(given, READ_OF_PROVIDER, 'providers[0]');
  const config = members(given['config']);
  const [, scheme = id] = /^([a-z0-9-]+):/i.exec(id) ?? [];
  if (scheme === 'exec') return execAgent(given, id, base, from, leftOut) ?? refused('names no program');
  leftOut.addUnread(members(given['env']), [], 'providers[0].env');
  if (scheme === 'openai') {
    const endpoint = openaiEndpoint(id, config, leftOut);
    if (endpoint === null) return refused('has no counterpart: of OpenAI’s interfaces only chat is known here');
    return { agent: { kind: 'http', ...base, provider: 'openai', endpoint }, chat: true };
  }
  if (scheme === 'http' || scheme === 'https') {
    const url = /^https?:\/\//.test(id) ? id : config['url'];
    const endpoint = chatEndpoint(url, config);
    if (typeof endpoint === 'string') return refused(`has no counterpart: ${endpoint}`);
    return { agent: { kind: 'http', ...base, endpoint }, chat: false };
  }
  if (id === 'echo') return { agent: { kind: 'echo', ...base }, chat: false };
  if (/^(?:python:|file:\/\/.*\.py(?::|$))/.test(id))
    return refused(
      'is Python that promptfoo calls; wrap it as a `command` agent that reads the request and prints its answer',
    );
  if (/^(?:file:\/\/)?.*\.(?:[cm]?[jt]s)$/.test(id))
    return refused('is a class that promptfoo calls; export `async (request) => text` and name it as a `module` agent');
  return refused('has no counterpart');
}

/** A provider as its members: a text is its id, and a mapping of one id to its options is that id with them. */
function providerMembers(provider: unknown): Members {
  if (typeof provider === 'string') return { id: provider };
  const given = members(provider);
  const [only, ...others] = Object.keys(given);
  if (given['id'] !== undefined || only === undefined || others.length > 0) return given;
  return typeof given[only] === 'object' ? { id: only, ...members(given[only]) } : given;
}

/** promptfoo's `exec:`: the command is split as a shell would at white space and quotes, and started in the configuration's folder. */
function execAgent(given: Members, id: string, base: Members, from: string, leftOut: LeftOut): ImportedAgent | null {
  const parts = [...id.slice('exec:'.length).matchAll(/[^\s"']+|"([^"]*)"|'([^']*)'/g)].map(
    ([whole, double, single]) => double || single || whole,
  );
  const [program, ...rest] = parts;
  if (program === undefined) return null;
  const local = program.includes('/') && !path.posix.isAbsolute(program);
  const started = local ? path.posix.join(from, program) : program;
  const env: Record<string, string> = {};
  for (const [name, value] of Object.entries(members(given['env']))) {
    const secret = typeof value === 'string' ? /^\{\{\s*env\.(\w+)\s*\}\}$/.exec(value)?.[1] : undefined;
    if (secret === undefined)
      leftOut.add(`providers[0].env.${name}: write it as \`\${secret:NAME}\` into \`agent.env\``);
    else env[name] = `\${secret:${secret}}`;
  }
  const { env: _env, ...options } = given;
  return {
    agent: {
      kind: 'command',
      ...base,
      command: [local && !started.includes('/') ? `./${started}` : started, ...rest],
      cwd: from,
      ...(Object.keys(env).length === 0 ? {} : { env }),
      promptfoo: { options },
      agent_metadata: ['vars'],
    },
    chat: false,
  };
}

/** The first provider of a configuration; several and none are told. */
export function firstProvider(config: Members, leftOut: LeftOut): unknown {
  const providers = list(config['providers'] ?? config['targets']);
  if (providers.length > 1)
    leftOut.add(`providers: the first of ${providers.length} is taken; a profile has one agent`);
  return providers[0];
}
