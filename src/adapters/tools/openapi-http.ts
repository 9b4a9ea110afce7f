/** A header's or cookie's name (RFC 9110, token). */
export const TOKEN = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/;

/** Headers that frame a message, say whom it is for, or are Proctor's to set: neither an operator nor a caller gives them. */
export const FRAMING_HEADERS: ReadonlySet<string> = new Set([
  'host',
  'connection',
  'content-length',
  'content-type',
  'expect',
  'idempotency-key',
  'keep-alive',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** Why a text is no URL that requests may go to; null when it is one. */
export function urlFault(text: string): string | null {
  if (!URL.canParse(text)) return 'must be a whole URL';
  const { protocol, username, password } = new URL(text);
  if (protocol !== 'http:' && protocol !== 'https:') return 'must be an http or https URL';
  return username !== '' || password !== '' ? 'holds a user name; write credentials as `headers` with a secret' : null;
}

/** The URL of a document that is fetched; null for a file. */
export function documentUrl(document: string): URL | null {
  return /^https?:\/\//i.test(document) && URL.canParse(document) ? new URL(document) : null;
}
