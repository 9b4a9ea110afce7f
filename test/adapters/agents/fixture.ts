import type { z } from 'zod';
import type { Agent, AgentAnswer, AgentKind, AgentRequest } from '../../../src/contract/agent.ts';
import { Secrets } from '../../../src/core/redaction/secrets.ts';

/** The secrets that tests may refer to. */
export const SECRETS: Readonly<Record<string, string>> = { TOKEN: 'tok-"very"-secret-1234', KEY: 'key-9876543210' };

/** A reference to a secret, as a profile writes it. */
export function secret(name: string): string {
  return `\${secret:${name}}`;
}

/** A request of an agent with the members given. */
export function agentRequest(input: unknown = 'What is 2 + 2?', caseId = 'case-1'): AgentRequest {
  return {
    run_id: 'run_1',
    execution_id: 'exe_1',
    attempt_id: 'att_1',
    attempt_number: 1,
    agent: { name: 'triage', version: '1', provider: null },
    case: { case_id: caseId, task_type: 'default', input, context: null, tags: [], metadata: {} },
  };
}

/** Opens an agent as the profile's members say. */
export async function openAgent<Schema extends z.ZodType>(
  kind: AgentKind<Schema>,
  config: unknown,
  baseDir = import.meta.dirname,
): Promise<Agent & AsyncDisposable> {
  const secrets = new Secrets((_, name) => SECRETS[name] ?? missing(name));
  const agent = await kind.open({
    config: kind.config.parse(config),
    base_dir: baseDir,
    concurrency: 4,
    resolve: (text) => secrets.resolve(text),
    redact: (text) => secrets.text(text),
    environment: { PATH: process.env['PATH'], HOME: '/home/of-proctor', OPENAI_API_KEY: 'must-not-leak' },
  });
  return {
    invoke: (...call) => agent.invoke(...call),
    close: () => agent.close(),
    [Symbol.asyncDispose]: () => agent.close(),
  };
}

/** Invokes an agent once and closes it. */
export async function invokeOnce<Schema extends z.ZodType>(
  kind: AgentKind<Schema>,
  config: unknown,
  more: {
    readonly request?: AgentRequest;
    readonly timeout_ms?: number;
    readonly signal?: AbortSignal;
    readonly repeat?: number;
    readonly base_dir?: string;
  } = {},
): Promise<AgentAnswer> {
  await using agent = await openAgent(kind, config, more.base_dir);
  return await agent.invoke(more.request ?? agentRequest(), {
    timeout_ms: more.timeout_ms ?? 5_000,
    signal: more.signal ?? new AbortController().signal,
    repeat: more.repeat ?? 1,
  });
}

function missing(name: string): never {
  throw new Error(`no secret ${name}`);
}
