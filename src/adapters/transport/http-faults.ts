import { pointerValue } from '../../lib/json-pointer.ts';

/** Whose fault a status is that is no success (CONTRACTS, whose fault), and what it tells of further calls. */
export interface StatusFault {
  readonly fault: 'infrastructure' | 'configuration' | 'agent';
  /** It may be the profile's doing after all, where every call has it: a route that does not exist. */
  readonly suspect?: true;
  /** The other side is there and asks to be called less often. */
  readonly throttled?: true;
  /** What the provider called it, where that says more than the status (`model_not_found`). */
  readonly class?: string;
}

const INFRASTRUCTURE: ReadonlySet<number> = new Set([408, 502, 503, 504]);
const CONFIGURATION: ReadonlySet<number> = new Set([401, 403, 407]);
const SUSPECT: ReadonlySet<number> = new Set([402, 404, 405, 410]);

/** What providers say in `error.code` or `error.type` of a refusal that no other call would escape. */
const SAID: ReadonlySet<string> = new Set([
  'account_deactivated',
  'api_key_invalid',
  'authentication_error',
  'billing_hard_limit_reached',
  'deploymentnotfound',
  'insufficient_quota',
  'invalid_api_key',
  'invalid_model',
  'model_not_available',
  'model_not_found',
  'not_found_error',
  'permission_error',
  'unknown_model',
]);
const MOST_PARSED = 65_536;

/** Reads a status with the body that came with it: a provider's error code tells more than the status. */
export function statusFault(status: number, body: string, headers: Readonly<Record<string, string>>): StatusFault {
  if (CONFIGURATION.has(status)) return { fault: 'configuration' };
  const said = status >= 400 && status < 500 ? providerCode(body) : null;
  if (said !== null) return { fault: 'configuration', class: said };
  if (status === 429) return { fault: 'infrastructure', throttled: true };
  if (INFRASTRUCTURE.has(status))
    return { fault: 'infrastructure', ...(headers['retry-after'] === undefined ? {} : { throttled: true as const }) };
  return { fault: 'agent', ...(SUSPECT.has(status) ? { suspect: true as const } : {}) };
}

function providerCode(body: string): string | null {
  if (body.length > MOST_PARSED || !body.trimStart().startsWith('{')) return null;
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    return null; // a body that is not JSON has no error code
  }
  const said = ['/error/code', '/error/type', '/error/status', '/code', '/type'].map((pointer) =>
    pointerValue(value, pointer),
  );
  return said.map((code) => String(code).toLowerCase()).find((code) => SAID.has(code)) ?? null;
}
