import { DigestParts, digest, digestText } from '../lib/canonical-json.ts';

/** What an approval is bound to: change any of it and it is another call. */
export interface CanonicalCall {
  readonly source: string;
  readonly name: string;
  readonly definition_digest: string | null;
  readonly arguments_digest: string;
  readonly principal: string;
  readonly agent: string | null;
  readonly run_id: string | null;
  readonly ordinal: number | null;
  readonly attempt: number | null;
}

/** The digest of a call's arguments. */
export function argumentsDigest(canonical: string): string {
  return digestText('proctor/tool_arguments/1', canonical);
}

/** The digest of a call. */
export function callDigest(call: CanonicalCall): string {
  const { source, name, definition_digest, arguments_digest, principal, agent, run_id, ordinal, attempt } = call;
  return digest('proctor/tool_call/1', {
    agent,
    arguments_digest,
    attempt,
    definition_digest,
    name,
    ordinal,
    principal,
    run_id,
    source,
  });
}

/** The digest of a tool run's error as it is stored; events carry it in place of the message. */
export function toolErrorDigest(stored: string): string {
  return digestText('proctor/tool_error/1', stored);
}

/** The digest of a tool's whole output in canonical JSON. */
export function toolOutputDigest(canonical: string | Buffer): string {
  if (typeof canonical === 'string') return digestText('proctor/tool_output/1', canonical);
  return new DigestParts('proctor/tool_output/1').add(canonical).end();
}

/** Everything an event of the gateway says. */
export interface GatewayEventRecord {
  /** The run whose stream it is in; null for calls outside of runs. */
  readonly run_id: string | null;
  readonly seq: number;
  readonly type: string;
  readonly at: number;
  readonly tool_run_id: string | null;
  readonly body: string;
}

/** The hash of an event of the gateway: over the event before it in its stream and every column. */
export function gatewayEventHash(previous: string, row: GatewayEventRecord): string {
  const { run_id, seq, type, at, tool_run_id, body } = row;
  return digestText('proctor/gateway_event/1', JSON.stringify([previous, run_id, seq, type, at, tool_run_id, body]));
}

/** Why a person may not answer an approval; null when they may. */
export function whyNotApprover(
  approval: {
    readonly approvers: readonly (readonly string[])[];
    readonly self_approval: boolean;
    readonly requested_by: string;
  },
  who: { readonly id: string; readonly kind: string; readonly roles: readonly string[] },
): string | null {
  if (who.kind === 'agent') return `\`${who.id}\` is an agent; only people and services may answer`;
  if (!approval.self_approval && approval.requested_by === who.id)
    return `\`${who.id}\` asked for this call, and policy does not let one answer for oneself (\`self_approval\`)`;
  const missing = approval.approvers.find(
    (list) => !list.some((name) => (name.startsWith('role:') ? who.roles.includes(name.slice(5)) : name === who.id)),
  );
  return missing === undefined
    ? null
    : `\`${who.id}\`${who.roles.length > 0 ? ` (${who.roles.join(', ')})` : ''} is not among the approvers: ${missing.join(', ')}`;
}
