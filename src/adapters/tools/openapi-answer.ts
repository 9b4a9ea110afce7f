import { STATUS_CODES } from 'node:http';
import { type ToolAnswer, type ToolOutput, textOutput, toolFailure } from '../../contract/tool.ts';
import { digestBytes } from '../../lib/canonical-json.ts';
import { parseStrictJson } from '../../lib/strict-json.ts';
import { excerpt } from '../transport/excerpt.ts';
import type { HttpOutcome } from '../transport/http-client.ts';
import type { HttpErrorCode } from '../transport/http-errors.ts';
import { isMembers, type OperationBinding } from './openapi-binding.ts';

type Response = HttpOutcome & { readonly type: 'response' };

type Promised = { readonly type: 'checked'; readonly wrapped: boolean } | { readonly type: 'unchecked' };

/** A body as output, and why its JSON is none where it should be. */
interface Read {
  readonly output: ToolOutput;
  /** Null for a body of JSON. */
  readonly problem: string | null;
}

/** Errors before a byte was sent, whatever happened: the name or the port was not there, or the address was refused. */
const BEFORE: ReadonlySet<HttpErrorCode> = new Set(['connection_refused', 'dns', 'address_refused']);
const HEAD_HEADERS = ['content-type', 'content-length', 'etag', 'last-modified', 'location', 'retry-after'];

/** What a call came to. `redirects`: whether an earlier request may have gone out before the one that failed. */
export function answerOf(
  outcome: HttpOutcome,
  operation: OperationBinding,
  { redirects, redact }: { readonly redirects: boolean; redact(text: string): string },
): ToolAnswer {
  const what = `${operation.method} ${operation.path}`;
  if (outcome.type === 'error') {
    const { code, message } = outcome;
    if (code === 'timeout') return { type: 'timeout', message: `${what}: ${message}` };
    if (code === 'aborted') return { type: 'cancelled', message: `${what}: ${message}` };
    const sent = !(BEFORE.has(code) && (!redirects || code === 'address_refused'));
    return toolFailure(code === 'oversize_body' ? 'oversize_output' : code, `${what}: ${message}`, { sent });
  }
  const success = outcome.status >= 200 && outcome.status < 300;
  const { output, problem } = read(
    outcome,
    operation.method,
    success ? operation.output : { type: 'unchecked' },
    redact,
  );
  if (!success)
    return toolFailure('http_status', `${what} was answered with ${statusOf(outcome)}${adviceOn(outcome)}`, { output });
  if (operation.output.type === 'checked' && problem !== null)
    return toolFailure(
      'invalid_output',
      `${what} was answered with ${statusOf(outcome)} and ${problem}, where the document promises JSON`,
      { output },
    );
  return { type: 'ok', output };
}

function statusOf({ status }: Response): string {
  const reason = STATUS_CODES[status];
  return `status ${status}${reason === undefined ? '' : ` (${reason})`}`;
}

function adviceOn({ status, headers }: Response): string {
  if (status === 401) return '; credentials are `headers` or `query` of the source';
  const after = headers['retry-after'];
  return after !== undefined && /^[\w ,:+-]{1,40}$/.test(after) ? `; it may be tried again after ${after}` : '';
}

function read(response: Response, method: string, promised: Promised, redact: (text: string) => string): Read {
  const { body, headers } = response;
  const type = headers['content-type'] ?? '';
  const media = type.split(';')[0]?.trim().toLowerCase() ?? '';
  if (method === 'HEAD') return { output: textOutput(headText(response, redact)), problem: null };
  if (body.length === 0) return { output: textOutput(`${statusOf(response)}, no body`), problem: 'no body' };
  const text = textOf(body, media, type);
  if (text === null) return { output: binaryOutput(body, media), problem: `a body of ${shown(media)}` };
  if (!/^application\/([\w.+-]+\+)?json$/.test(media))
    return { output: textOutput(text), problem: `a body of ${shown(media)}` };
  return json(text, promised);
}

/** Non-objects are `{result: …}`, as clients of MCP want objects; JSON that no value carries exactly stays text. */
function json(text: string, promised: Promised): Read {
  const parsed = parseStrictJson(text.replace(/^\uFEFF/, ''));
  const [issue] = parsed.issues;
  if (parsed.type === 'invalid' || issue !== undefined)
    return {
      output: textOutput(text),
      problem: `JSON that cannot be carried (${issue?.message ?? 'it cannot be read'})`,
    };
  const wrapped = promised.type === 'checked' ? promised.wrapped : !isMembers(parsed.value);
  return { output: textOutput(text, wrapped ? { result: parsed.value } : parsed.value), problem: null };
}

function headText(response: Response, redact: (text: string) => string): string {
  const lines = HEAD_HEADERS.flatMap((name) => {
    const value = response.headers[name];
    return value === undefined ? [] : [`${name}: ${excerpt(redact(value), 500)}`];
  });
  return [statusOf(response), ...lines].join('\n');
}

/** The text of a body; null when it is none. Text is what says so, and what says nothing and is UTF-8. */
function textOf(body: Buffer, media: string, type: string): string | null {
  const said =
    /^text\/|^application\/(.*\+)?(json|xml|yaml|x-yaml|javascript|x-www-form-urlencoded|x-ndjson|graphql)$/.test(
      media,
    );
  if (!said && media !== '') return null;
  const charset = /;\s*charset="?([\w-]+)"?/i.exec(type)?.[1] ?? 'utf-8';
  try {
    return new TextDecoder(charset, { fatal: true }).decode(body);
  } catch (error) {
    if (error instanceof TypeError || error instanceof RangeError) return null; // not of that charset, or none that is known
    throw error;
  }
}

function binaryOutput(body: Buffer, media: string): ToolOutput {
  const mimeType = /^[\w.+-]+\/[\w.+-]+$/.test(media) ? media : 'application/octet-stream';
  const digest = digestBytes(body);
  const data = body.toString('base64');
  const text = { type: 'text', text: `${mimeType}, ${body.length} bytes, sha256 ${digest}` };
  const kind = /^(image|audio)\//.exec(mimeType)?.[1];
  const block =
    kind === undefined
      ? { type: 'resource', resource: { uri: `urn:sha256:${digest}`, mimeType, blob: data } }
      : { type: kind, data, mimeType };
  return { content: [text, block], structured: null };
}

function shown(media: string): string {
  return media === '' ? 'no type' : `\`${media.slice(0, 80)}\``;
}
