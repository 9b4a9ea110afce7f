import { z } from 'zod';
import {
  type AgentAnswer,
  type AgentContext,
  type AgentKind,
  type AgentRequest,
  agentFailure,
} from '../../contract/agent.ts';
import { diagnostic, ProctorError } from '../../contract/problem.ts';
import { systemClock } from '../../lib/clock.ts';
import { addressPolicy } from '../transport/address-policy.ts';
import { excerpt } from '../transport/excerpt.ts';
import { type HttpOutcome, openHttpClient } from '../transport/http-client.ts';
import type { HttpErrorCode } from '../transport/http-errors.ts';
import { statusFault } from '../transport/http-faults.ts';
import { retryAfterMs } from '../transport/retry-after.ts';
import { requestBody } from './http-body.ts';
import { type Endpoint, endpointSchema } from './http-config.ts';
import { parseResponse } from './http-response.ts';

const config = z.strictObject({ endpoint: endpointSchema });

type Redact = AgentContext<unknown>['redact'];

/** Errors that the agent caused: it was reached, and what it did is no usable response. */
const AGENT_ERRORS: ReadonlySet<HttpErrorCode> = new Set([
  'timeout',
  'oversize_body',
  'invalid_response',
  'redirect_refused',
]);

const SHOWN_HEADERS = ['content-type', 'content-length', 'retry-after', 'location', 'server', 'x-request-id'];

/** Agent kind `http`: posts the request to an endpoint and maps the response to the envelope. */
export const http: AgentKind<typeof config> = {
  kind: 'http',
  config,
  code: () => [],
  async open({ config: { endpoint }, resolve, redact, concurrency }) {
    const templates = [endpoint.url, ...Object.values(endpoint.headers)];
    for (const template of templates) resolve(template); // a missing secret is found before the run starts
    const url = checkedUrl(endpoint, resolve);
    const client = openHttpClient({
      authored_host: url.hostname,
      connections: concurrency,
      private_addresses: endpoint.private_addresses,
      redirects: endpoint.redirects,
      cross_origin_redirects: endpoint.cross_origin_redirects,
    });
    const body = requestBody(endpoint);
    return {
      async invoke(request, { signal, timeout_ms }) {
        const outcome = await client.request({
          url: endpoint.url.includes('${') ? new URL(resolve(endpoint.url)) : url,
          method: endpoint.method,
          headers: requestHeaders(endpoint, request, resolve),
          body: body(request),
          timeout_ms: Math.min(timeout_ms, endpoint.timeout_ms ?? timeout_ms),
          max_body_bytes: endpoint.max_body_bytes,
          signal,
        });
        return answer(outcome, endpoint, redact);
      },
      close: () => client.close(),
    };
  },
};

function answer(outcome: HttpOutcome, endpoint: Endpoint, redact: Redact): AgentAnswer {
  const where = `\`${endpoint.url}\``; // as written: its secrets are not resolved here
  if (outcome.type === 'error') {
    const fault = AGENT_ERRORS.has(outcome.code) ? 'agent' : 'infrastructure';
    return agentFailure(fault, outcome.code, `${where} gave no response: ${excerpt(redact(outcome.message), 512)}`, {
      timed_out: outcome.code === 'timeout',
      evidence: evidenceOf(outcome, redact),
    });
  }
  if (outcome.status < 200 || outcome.status > 299) {
    const { fault, ...more } = statusFault(outcome.status, outcome.body.toString('utf8'), outcome.headers);
    return agentFailure(fault, 'http_status', `${where} answered with status ${outcome.status}`, {
      retry_after_ms: retryAfterMs(outcome.headers['retry-after'], systemClock.now()),
      evidence: evidenceOf(outcome, redact),
      class: `http_${outcome.status}`,
      ...more,
    });
  }
  const { headers, body } = outcome;
  const parsed = parseResponse(body.toString('utf8'), headers['content-type'] ?? '', endpoint.response);
  if (parsed.type === 'envelope') return parsed;
  return agentFailure(
    'agent',
    'invalid_body',
    `${where} answered with status ${outcome.status} and an unusable body: ${excerpt(redact(parsed.problem), 512)}`,
    {
      evidence: evidenceOf(outcome, redact),
    },
  );
}

function evidenceOf(outcome: HttpOutcome, redact: Redact): unknown {
  const headers = Object.fromEntries(
    SHOWN_HEADERS.flatMap((name) =>
      outcome.headers[name] === undefined ? [] : [[name, excerpt(redact(outcome.headers[name]), 256)]],
    ),
  );
  // Redacted before it is cut, so that no half of a secret stays at the edge.
  const body = excerpt(redact(outcome.body.toString('utf8')), 2_048);
  return { status: outcome.status, headers, body: body === '' ? null : body };
}

function requestHeaders(
  endpoint: Endpoint,
  request: AgentRequest,
  resolve: (text: string) => string,
): Record<string, string> {
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    accept: 'application/json, text/plain;q=0.5',
    'idempotency-key': request.attempt_id,
    'proctor-run-id': request.run_id,
    'proctor-execution-id': request.execution_id,
    'proctor-attempt-id': request.attempt_id,
  };
  for (const [name, template] of Object.entries(endpoint.headers)) headers[name.toLowerCase()] = resolve(template);
  return headers;
}

function checkedUrl(endpoint: Endpoint, resolve: (text: string) => string): URL {
  const invalid = (message: string, hint: string) =>
    new ProctorError('invalid_profile', `the endpoint \`${endpoint.url}\` ${message}; ${hint}`, {
      diagnostics: [diagnostic(message, { field: 'agent.endpoint.url', hint })],
    });
  const text = resolve(endpoint.url);
  if (!URL.canParse(text)) throw invalid('is not a URL', 'write it whole, as in `http://127.0.0.1:4711/invoke`');
  const url = new URL(text);
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw invalid(`has the protocol \`${url.protocol}\``, 'use http or https');
  if (url.username !== '' || url.password !== '')
    throw invalid('holds credentials', 'put them into `headers.authorization` as a `secret:` reference');
  const refused = addressPolicy(url.hostname, endpoint.private_addresses).refusalOfLiteral(url.hostname);
  if (refused !== null) throw invalid(`cannot be reached: ${refused}`, 'change `private_addresses` or the URL');
  return url;
}
