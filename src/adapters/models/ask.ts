import type { LanguageModelV4, LanguageModelV4CallOptions } from '@ai-sdk/provider';
import { ProctorError } from '../../contract/problem.ts';
import { namesLoopback } from '../transport/address-policy.ts';
import { openHttpClient } from '../transport/http-client.ts';
import { statusFault } from '../transport/http-faults.ts';
import type { ModelConfig } from './model-config.ts';

const CONNECTIONS = 16;
const MOST_MS = 600_000; // whoever asks has a time limit of their own
const MOST_BYTES = 4 * 1024 * 1024;

/** One question to a model: fixed texts, and the JSON Schema of the answer. */
export interface ModelQuestion {
  readonly system: string;
  readonly user: string;
  readonly schema: object;
  readonly signal: AbortSignal;
}

/** What a model answered, as text that should be JSON, and what it took. */
export interface ModelAnswer {
  readonly text: string;
  readonly model: string;
  /** 0, or null for a model that takes none: the newest decide for themselves. */
  readonly temperature: 0 | null;
  readonly input_tokens: number | null;
  readonly output_tokens: number | null;
  /** By the endpoint's price; null when it has none or tokens are not told. */
  readonly cost_micro_usd: number | null;
}

/** A model behind an endpoint: asked at temperature 0, without retries (whoever asks owns them). */
export interface Model {
  readonly config: ModelConfig;
  ask(question: ModelQuestion): Promise<ModelAnswer>;
}

/** Opens a model of any OpenAI-compatible or Anthropic endpoint; the provider's package is loaded with the first question. */
export function openModel(config: ModelConfig, resolve: (text: string) => string): Model {
  const base_url = resolve(config.base_url);
  checkUrl(base_url);
  const key = () => (config.api_key === null ? undefined : resolve(config.api_key));
  key(); // a secret that is not set is told before the run
  let opened: Promise<LanguageModelV4> | undefined;
  return {
    config,
    async ask({ system, user, schema, signal }) {
      opened ??= load({ ...config, base_url }, key());
      const options: LanguageModelV4CallOptions = {
        prompt: [
          { role: 'system', content: system },
          { role: 'user', content: [{ type: 'text', text: user }] },
        ],
        temperature: 0,
        maxOutputTokens: config.max_output_tokens,
        responseFormat: { type: 'json', name: 'grades', schema: schema as never },
        abortSignal: signal,
      };
      const result = await (await opened).doGenerate(options);
      const text = result.content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('');
      const input_tokens = result.usage.inputTokens.total ?? null;
      const output_tokens = result.usage.outputTokens.total ?? null;
      return {
        text,
        model: result.response?.modelId ?? config.model,
        temperature: result.warnings.some((warning) => 'feature' in warning && warning.feature === 'temperature')
          ? null
          : 0,
        input_tokens,
        output_tokens,
        cost_micro_usd: costOf(config, input_tokens, output_tokens),
      };
    },
  };
}

/** Whether a model refused in a way that no further try could mend: by wrong credentials, or because it or its route does not exist. */
export function refusedForGood(error: unknown): boolean {
  const { statusCode, responseBody } = (error ?? {}) as { statusCode?: unknown; responseBody?: unknown };
  if (typeof statusCode !== 'number') return false;
  const { fault, suspect = false } = statusFault(statusCode, typeof responseBody === 'string' ? responseBody : '', {});
  return fault === 'configuration' || suspect;
}

async function load(config: ModelConfig, apiKey: string | undefined): Promise<LanguageModelV4> {
  const fetchHere = boundedFetch(new URL(config.base_url).hostname);
  const settings = { baseURL: config.base_url, fetch: fetchHere, ...(apiKey === undefined ? {} : { apiKey }) };
  if (config.provider === 'anthropic') {
    const { createAnthropic } = await import('@ai-sdk/anthropic');
    return createAnthropic({ apiKey: 'none', ...settings }).languageModel(config.model);
  }
  const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
  return createOpenAICompatible({ name: 'judge', supportsStructuredOutputs: true, ...settings }).chatModel(
    config.model,
  );
}

/** `fetch` over the bounded client: addresses by policy at the moment they are connected to, no redirects, an answer of bounded size. */
function boundedFetch(host: string): typeof fetch {
  const client = openHttpClient({ authored_host: host, connections: CONNECTIONS });
  return async (input, init) => {
    const outcome = await client.request({
      url: new URL(String(input)),
      method: init?.method ?? 'POST',
      headers: Object.fromEntries(new Headers(init?.headers)),
      body: typeof init?.body === 'string' ? init.body : null,
      timeout_ms: MOST_MS,
      max_body_bytes: MOST_BYTES,
      signal: init?.signal ?? new AbortController().signal,
    });
    if (outcome.type === 'error') throw new Error(`${outcome.code}: ${outcome.message}`);
    const empty = outcome.status === 204 || outcome.status === 304;
    return new Response(empty ? null : new Uint8Array(outcome.body), {
      status: outcome.status,
      headers: outcome.headers,
    });
  };
}

function costOf({ price }: ModelConfig, input: number | null, output: number | null): number | null {
  if (price === null || input === null || output === null) return null;
  // USD per million tokens is micro-USD per token.
  return Math.ceil(input * price.input_per_mtok_usd + output * price.output_per_mtok_usd - 1e-6);
}

function checkUrl(text: string): void {
  const refuse = (why: string) => new ProctorError('invalid_profile', `the model endpoint \`${text}\` ${why}`);
  if (!URL.canParse(text)) throw refuse('is not a URL');
  const url = new URL(text);
  if (url.username !== '' || url.password !== '')
    throw refuse('holds credentials; put them into `api_key` as a reference');
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && namesLoopback(url.hostname)))
    throw refuse('would be asked unencrypted; use https (http is for this machine only)');
}
