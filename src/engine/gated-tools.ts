import type { Envelope, ToolCall } from '../contract/agent.ts';
import type { GatedCalls, OpenDoor } from '../contract/gateway-profile.ts';
import { ProctorError } from '../contract/problem.ts';
import { canonicalJson } from '../lib/canonical-json.ts';
import type { AttemptWork } from './attempt-work.ts';

/** Opens the door to the gateway for the agent of an attempt; null where the profile gives it none. */
export async function openDoor({ deps, context, claim }: AttemptWork): Promise<OpenDoor | null> {
  const { gateway: frozen, profile } = context.snapshot;
  if (frozen === undefined || profile.gateway === undefined) return null;
  if (deps.doors === undefined)
    throw new ProctorError('unsupported', 'this run has gated tools, and this worker has no gateway to lead to them');
  const { run_id, ordinal, attempt, lease_id } = claim;
  return await deps.doors.open({
    fence: { run_id, ordinal, attempt, lease_id },
    agent: profile.agent.name,
    frozen,
    tools: profile.gateway.tools ?? null,
    operator: profile.gateway.operator,
    seed: profile.seed,
  });
}

/**
 * The envelope with the calls that went through the gateway, as the gateway recorded them. What the agent tells of is `reported`, whatever it
 * says itself, and is left out where it is the same call.
 */
export function withGatedCalls(envelope: Envelope, gated: GatedCalls): Envelope {
  const same = new Map<string, number>();
  for (const call of gated.calls) same.set(keyOf(call), (same.get(keyOf(call)) ?? 0) + 1);
  const reported = asReported(envelope).tool_calls.filter((call) => {
    const left = same.get(keyOf(call)) ?? 0;
    same.set(keyOf(call), left - 1);
    return left <= 0;
  });
  return {
    ...envelope,
    tool_calls: [...gated.calls, ...reported],
    trace: [...envelope.trace, ...gated.trace.map((entry) => ({ ...entry }))],
  };
}

/** The envelope of an agent whose word is all there is: no call of it went through the gateway. */
export function asReported(envelope: Envelope): Envelope {
  if (envelope.tool_calls.every((call) => call.source === 'reported' && call.status === undefined)) return envelope;
  return {
    ...envelope,
    tool_calls: envelope.tool_calls.map(({ arguments: input, name, result }) => ({
      arguments: input,
      name,
      result,
      source: 'reported',
    })),
  };
}

/** The same call by name (as MCP writes it, or as it is inside) and arguments. */
function keyOf({ name, arguments: input }: ToolCall): string {
  return `${name.replace('__', '.')} ${canonicalJson(input ?? {})}`;
}
