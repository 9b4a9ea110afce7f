import type { LookupFunction } from 'node:net';
import type { Agent } from 'undici';
import { linkedSignal } from '../../lib/abort.ts';
import { type AddressPolicy, addressPolicy, type PrivateAddresses } from './address-policy.ts';
import { decodeContent } from './content-encoding.ts';
import type { HttpErrorCode } from './http-errors.ts';
import { type Exchange, type ExchangeOutcome, exchange } from './http-exchange.ts';

/** How a client connects: for whom it is made, how many connections it keeps, where it may go, what it follows. */
export interface HttpClientOptions {
  /** Host that the author of the profile wrote, as `URL.hostname` gives it; private addresses are allowed by it. */
  readonly authored_host: string;
  /** Connections per origin; they are kept alive and reused. */
  readonly connections: number;
  /** Default `named`. */
  readonly private_addresses?: PrivateAddresses;
  /** Redirects followed at most; default 0. */
  readonly redirects?: number;
  /** Whether a redirect may lead to another origin; default false. Only `content-type` and `accept` go with it. */
  readonly cross_origin_redirects?: boolean;
  readonly connect_timeout_ms?: number;
  /** Where names are looked up; default the system. */
  readonly lookup?: LookupFunction;
}

/** One request. `timeout_ms` covers everything: connecting, redirects, and the last byte of the body. */
export interface HttpRequest {
  readonly url: URL;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array | null;
  readonly timeout_ms: number;
  /** Default 16 MiB, counted before and after content decoding. */
  readonly max_body_bytes?: number;
  readonly signal: AbortSignal;
}

/** A response (of any status) with its body, or why there is none. */
export type HttpOutcome = ExchangeOutcome;

/** A bounded HTTP client; `request` never rejects. */
export interface HttpClient {
  request(request: HttpRequest): Promise<HttpOutcome>;
  close(): Promise<void>;
}

/** Limit of a response body in bytes when none is given. */
export const DEFAULT_MAX_BODY_BYTES = 16 * 1024 * 1024;

const REDIRECT_STATUSES: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
const CROSS_ORIGIN_HEADERS: ReadonlySet<string> = new Set(['content-type', 'accept', 'accept-encoding']);
const TIME_IS_UP = new Error('time is up');

/** Opens a client whose every connection is checked against the address policy at the address it really goes to. */
export function openHttpClient(options: HttpClientOptions): HttpClient {
  const policy = addressPolicy(options.authored_host, options.private_addresses ?? 'named', options.lookup);
  let dispatcher: Promise<Agent> | null = null;
  return {
    async request(request) {
      using limit = linkedSignal(request.signal, request.timeout_ms, () => TIME_IS_UP);
      dispatcher ??= openDispatcher(options, policy);
      const outcome = await follow(await dispatcher, policy, options, request, limit.signal);
      if (outcome.type === 'error' && outcome.code === 'aborted' && limit.signal.reason === TIME_IS_UP) {
        return { ...outcome, code: 'timeout', message: `no whole response within ${request.timeout_ms} ms` };
      }
      return outcome;
    },
    close: async () => {
      await (await dispatcher)?.destroy();
    },
  };
}

/** Loads undici with the first request: it takes a tenth of a second, which a process without HTTP need not pay. */
async function openDispatcher(options: HttpClientOptions, policy: AddressPolicy): Promise<Agent> {
  const { Agent } = await import('undici');
  return new Agent({
    connections: Math.max(1, options.connections),
    pipelining: 1,
    headersTimeout: 0, // the request's own time limit covers both
    bodyTimeout: 0,
    connect: { timeout: options.connect_timeout_ms ?? 10_000, lookup: policy.lookup },
  });
}

async function follow(
  dispatcher: Agent,
  policy: AddressPolicy,
  options: HttpClientOptions,
  request: HttpRequest,
  signal: AbortSignal,
): Promise<HttpOutcome> {
  const limit = request.max_body_bytes ?? DEFAULT_MAX_BODY_BYTES;
  let hop: Exchange = {
    url: request.url,
    method: request.method,
    headers: { 'accept-encoding': 'identity', ...request.headers },
    body: request.body,
    max_body_bytes: limit,
    signal,
  };
  for (let followed = 0; ; followed += 1) {
    const refused = policy.refusalOfLiteral(hop.url.hostname);
    if (refused !== null) return failure(followed === 0 ? 'address_refused' : 'redirect_refused', refused);
    const outcome = await exchange(dispatcher, hop);
    if (outcome.type === 'error')
      return followed > 0 && outcome.code === 'address_refused' ? { ...outcome, code: 'redirect_refused' } : outcome;
    if (!REDIRECT_STATUSES.has(outcome.status)) return decoded(outcome, limit);
    const next = nextHop(hop, outcome, options, followed);
    if ('type' in next) return next;
    hop = next;
  }
}

async function decoded(outcome: ExchangeOutcome & { type: 'response' }, limit: number): Promise<HttpOutcome> {
  if (outcome.headers['content-encoding'] === undefined) return outcome;
  const content = await decodeContent(outcome.body, outcome.headers['content-encoding'], limit);
  if (content.type === 'body') return { ...outcome, body: content.body };
  return { ...content, status: outcome.status, headers: outcome.headers, body: outcome.body };
}

/** The request that a redirect asks for (RFC 9110 §15.4), or why it is not followed. */
function nextHop(
  hop: Exchange,
  response: ExchangeOutcome & { type: 'response' },
  options: HttpClientOptions,
  followed: number,
): Exchange | HttpOutcome {
  const refuse = (why: string) => failure('redirect_refused', why, response);
  const location = response.headers['location'];
  const allowed = options.redirects ?? 0;
  if (location === undefined) return refuse(`status ${response.status} redirects without a \`Location\``);
  if (followed >= allowed)
    return refuse(
      `status ${response.status} redirects and ${allowed === 0 ? 'redirects are not followed' : `only ${allowed} redirects are followed`}; set \`redirects\` or name the final URL`,
    );
  if (!URL.canParse(location, hop.url.href)) return refuse('the redirect leads to something that is not a URL');
  const url = new URL(location, hop.url);
  if (url.protocol !== 'https:' && (url.protocol !== 'http:' || hop.url.protocol === 'https:'))
    return refuse(`the redirect leads from \`${hop.url.protocol}\` to \`${url.protocol}\``);
  const sameOrigin = url.origin === hop.url.origin;
  if (!sameOrigin && !options.cross_origin_redirects)
    return refuse(`the redirect leads from \`${hop.url.origin}\` to another origin, \`${url.origin}\``);
  const becomesGet = response.status === 303 || (response.status < 303 && hop.method === 'POST');
  const kept = Object.entries(hop.headers).filter(([name]) => {
    const lower = name.toLowerCase();
    return (sameOrigin || CROSS_ORIGIN_HEADERS.has(lower)) && !(becomesGet && lower === 'content-type');
  });
  return { ...hop, url, headers: Object.fromEntries(kept), ...(becomesGet ? { method: 'GET', body: null } : {}) };
}

function failure(code: HttpErrorCode, message: string, response?: ExchangeOutcome & { type: 'response' }): HttpOutcome {
  return {
    type: 'error',
    code,
    message,
    status: response?.status ?? null,
    headers: response?.headers ?? {},
    body: response?.body ?? Buffer.alloc(0),
  };
}
