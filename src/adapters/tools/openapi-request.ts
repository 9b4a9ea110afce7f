import type { OperationBinding, ParameterBinding } from './openapi-binding.ts';
import { sentBody } from './openapi-send-body.ts';
import { headerText, misfit, pairsOf, pathText, percent } from './openapi-style.ts';

/** A request as the HTTP client takes it. */
export interface BuiltRequest {
  readonly url: URL;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
}

/** What the operator sends with every call, secrets in place. */
export interface OperatorValues {
  readonly headers: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
}

type Arguments = Readonly<Record<string, unknown>>;

const SAFE: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);
const MOST_URL = 32_768;
const MOST_DECODED = 5;

/**
 * The request of a call. Arguments become single segments of the path, values of the query, headers, cookies and the body, never
 * anything of the scheme, the host or another segment. Throws `invalid_input` for what cannot be sent.
 */
export function buildRequest(
  operation: OperationBinding,
  input: Arguments,
  operator: OperatorValues,
  idempotency_key: string,
): BuiltRequest {
  const given = operation.parameters.filter(({ argument }) => Object.hasOwn(input, argument));
  const values = (place: ParameterBinding['in']) => given.filter((one) => one.in === place);
  const query = [
    ...values('query').flatMap((one) => pairsOf(one, input[one.argument])),
    ...Object.entries(operator.query).map(([name, value]) => `${percent(name)}=${percent(value)}`),
  ];
  const url = urlOf(operation, pathOf(operation, input), query);
  const headers: Record<string, string> = { accept: operation.accept, 'user-agent': 'proctor' };
  if (!SAFE.has(operation.method)) headers['idempotency-key'] = idempotency_key;
  const body = operation.body !== null && Object.hasOwn(input, 'body') ? sentBody(operation.body, input['body']) : null;
  if (body !== null) headers['content-type'] = body.media_type;
  for (const one of values('header')) {
    const text = headerText(one, input[one.argument]);
    if (text !== null) headers[one.name.toLowerCase()] = checkedHeader(text, `the argument \`${one.argument}\``);
  }
  const cookies = values('cookie').flatMap((one) => pairsOf(one, input[one.argument]));
  if (cookies.length > 0) headers['cookie'] = cookies.join('; ');
  for (const [name, value] of Object.entries(operator.headers))
    headers[name.toLowerCase()] = checkedHeader(value, `the header \`${name}\` of the source`);
  return { url, method: operation.method, headers, body: body?.text ?? null };
}

function pathOf({ path, parameters }: OperationBinding, input: Arguments): string {
  return path.replaceAll(/\{([^{}]*)\}/g, (_, name: string) => {
    const parameter = parameters.find((one) => one.in === 'path' && one.name === name);
    if (parameter === undefined) throw misfit(`the path has \`{${name}}\`, for which there is no parameter`);
    const { argument } = parameter;
    const value = Object.hasOwn(input, argument) ? input[argument] : undefined;
    refuseSteps(argument, value);
    const text = pathText(parameter, value);
    // An empty segment means another resource: `DELETE /users/` is not one user.
    if (text === null || /^[.;]?$/.test(text) || value === '')
      throw misfit(`the argument \`${argument}\` is empty, and the path needs it`);
    return text;
  });
}

/**
 * Percent-encoding keeps a value within its segment, but there are servers that decode before they resolve `..`; so a value that has
 * such a step in it, however often encoded, is not sent.
 */
function refuseSteps(argument: string, value: unknown): void {
  if (typeof value === 'object' && value !== null) {
    for (const part of Object.entries(value).flat()) refuseSteps(argument, part);
    return;
  }
  for (let text = String(value), round = 0; round < MOST_DECODED; round += 1) {
    if (text.split(/[/\\;]/).some((step) => step === '..' || step === '.'))
      throw misfit(`the argument \`${argument}\` has a step \`.\` or \`..\` in it, which does not go into a path`);
    if ([...text].some((character) => character < ' ' || character === '\x7f'))
      throw misfit(`the argument \`${argument}\` has a control character in it, which does not go into a path`);
    text = text.replaceAll(/%([0-9A-Fa-f]{2})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
  }
}

function urlOf({ server }: OperationBinding, path: string, query: readonly string[]): URL {
  const base = new URL(server);
  const pathname = base.pathname.replace(/\/+$/, '') + path;
  const search = query.length === 0 ? '' : `?${query.join('&')}`;
  if (pathname.length + search.length > MOST_URL)
    throw misfit(`the URL would have ${pathname.length + search.length} characters; the most is ${MOST_URL}`);
  const url = new URL(base.origin + pathname + search);
  // Whatever was missed above: what the parser makes of the URL is what was written, or nothing is sent.
  if (url.origin !== base.origin || url.pathname !== pathname || url.search !== search)
    throw misfit('the arguments would lead the request elsewhere than to the path of the operation');
  return url;
}

function checkedHeader(text: string, what: string): string {
  if (!/^[\t\x20-\x7e]*$/.test(text))
    throw misfit(
      `${what} holds a character that no header can carry (a line break, a control or a non-ASCII character)`,
    );
  return text;
}
