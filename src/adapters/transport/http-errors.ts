import { ADDRESS_REFUSED } from './address-policy.ts';

/** Why an exchange gave no response; stable, as stored in evidence. */
export type HttpErrorCode =
  | 'connection_refused'
  | 'connection_reset'
  | 'connect_timeout'
  | 'unreachable'
  | 'dns'
  | 'tls'
  | 'timeout'
  | 'aborted'
  | 'oversize_body'
  | 'invalid_response'
  | 'redirect_refused'
  | 'address_refused'
  | 'transport';

/** The system's and undici's error codes by what they mean to a caller. */
const MEANING: Readonly<Record<string, HttpErrorCode>> = {
  [ADDRESS_REFUSED]: 'address_refused',
  ECONNREFUSED: 'connection_refused',
  ECONNRESET: 'connection_reset',
  ECONNABORTED: 'connection_reset',
  EPIPE: 'connection_reset',
  UND_ERR_SOCKET: 'connection_reset',
  UND_ERR_CONNECT_TIMEOUT: 'connect_timeout',
  ETIMEDOUT: 'connect_timeout',
  EHOSTUNREACH: 'unreachable',
  ENETUNREACH: 'unreachable',
  EHOSTDOWN: 'unreachable',
  ENETDOWN: 'unreachable',
  EADDRNOTAVAIL: 'unreachable',
  ENOTFOUND: 'dns',
  EAI_AGAIN: 'dns',
  EAI_FAIL: 'dns',
  EAI_NODATA: 'dns',
  EPROTO: 'tls',
  UND_ERR_HEADERS_OVERFLOW: 'invalid_response',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'invalid_response',
};

const TLS =
  /^(ERR_TLS_|ERR_SSL_|CERT_|SELF_SIGNED_|DEPTH_ZERO_|UNABLE_TO_|HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE|ERR_OSSL)/;

/** The stable code of an error from the socket, TLS or the HTTP parser. */
export function httpErrorCode(error: unknown): HttpErrorCode {
  for (const code of codesOf(error)) {
    const known = MEANING[code];
    if (known !== undefined) return known;
    if (code.startsWith('HPE_')) return 'invalid_response';
    if (TLS.test(code)) return 'tls';
  }
  return error instanceof Error && error.name === 'HTTPParserError' ? 'invalid_response' : 'transport';
}

/** One line about an error from below, without the stack. */
export function httpErrorText(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return error.errors.map(httpErrorText).join('; ');
  return error instanceof Error ? error.message : String(error);
}

function* codesOf(error: unknown): Generator<string> {
  if (!(error instanceof Error)) return;
  if ('code' in error && typeof error.code === 'string') yield error.code;
  if (error instanceof AggregateError) for (const inner of error.errors) yield* codesOf(inner);
  if (error.cause !== undefined) yield* codesOf(error.cause);
}
