import type { CallFailure, CallReport } from '../contract/store.ts';

/** How the first calls of a run have gone so far, on one side. */
export interface Streak {
  readonly class: string | null;
  readonly failures: number;
}

const ENOUGH = { configuration: 3, infrastructure: 5 } as const; // failures of one kind, without a call that worked
const ROUNDS = 3; // failures of one execution by infrastructure: an agent that is just starting up gets the backoff's time

/** The failures of one execution that it takes before its run may be stopped, under a retry budget. */
export function patienceOf(fault: 'configuration' | 'infrastructure', retries: number): number {
  return fault === 'configuration' ? 1 : Math.min(ROUNDS, retries + 1);
}

/** The streak with one more failure: another reason begins it anew. */
export function lengthened(streak: Streak, { class: name }: Pick<CallFailure, 'class'>): Streak {
  return streak.class === name ? { class: name, failures: streak.failures + 1 } : { class: name, failures: 1 };
}

/** Whether the first calls of a run have failed the same way often enough; `rounds` of them this execution's, `total` executions in all. */
export function trips(
  streak: Streak,
  report: Pick<CallFailure, 'fault' | 'patience'>,
  rounds: number,
  total: number,
): boolean {
  return rounds >= report.patience && streak.failures >= Math.min(ENOUGH[report.fault], total);
}

/** Whether an attempt that failed ends nothing yet: what stopped the run is no execution's end, and before that each may fail twice. */
export function holdsBack(tripped: boolean, rounds: number): boolean {
  return tripped || rounds < ROUNDS;
}

/** After so many failures in a row nothing fresh is begun: those that failed are tried again, until one works or the run stops. */
export const CAUTION = ENOUGH.infrastructure;

const CURES: Readonly<Record<string, string>> = {
  http_401: 'check the secret or token in `agent.endpoint.headers`',
  http_402: 'check what the account may spend',
  http_403: 'check what the token in `agent.endpoint.headers` may do',
  http_404: 'check the path of `agent.endpoint.url` and the name of the model',
  http_405: 'check `agent.endpoint.method` and the path of `agent.endpoint.url`',
  http_407: 'check the credentials of the proxy',
  http_410: 'check the path of `agent.endpoint.url`',
  connection_refused: 'start the agent, or check host and port of `agent.endpoint.url`',
  connect_timeout: 'check that the agent can be reached, and `agent.endpoint.url`',
  unreachable: 'check that the agent can be reached, and `agent.endpoint.url`',
  dns: 'check the host in `agent.endpoint.url`',
  tls: 'check the certificate of the agent, and whether `agent.endpoint.url` wants http or https',
  spawn_failed: 'check `agent.command` and `agent.cwd`',
  exit_126: 'check that what `agent.command` calls may be executed',
  exit_127: 'check that what `agent.command` calls is installed',
  ...said('check the name of the model in the profile, and that the account may use it', [
    'deploymentnotfound',
    'invalid_model',
    'model_not_available',
    'model_not_found',
    'not_found_error',
    'unknown_model',
  ]),
  ...said('check the key in `agent.endpoint.headers`', ['api_key_invalid', 'authentication_error', 'invalid_api_key']),
  ...said('check what the key in `agent.endpoint.headers` may do', ['account_deactivated', 'permission_error']),
  ...said('check what the account may spend', ['billing_hard_limit_reached', 'insufficient_quota']),
};

/** The cure for what providers call an error. */
function said(cure: string, codes: readonly string[]): Record<string, string> {
  return Object.fromEntries(codes.map((code) => [code, cure]));
}

/** What to do about a run whose first calls all failed the same way. */
export function cureOf(side: CallReport['side'], name: string | null): string {
  if (side === 'evaluators') return 'check the evaluator: its endpoint, model, key and config';
  return CURES[name ?? ''] ?? 'check that the agent is there and takes calls';
}
