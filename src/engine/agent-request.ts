import type { AgentRequest } from '../contract/agent.ts';
import type { OpenDoor } from '../contract/gateway-profile.ts';
import type { Profile } from '../contract/profile.ts';
import type { PlannedCase } from '../contract/snapshot.ts';

/** Who asks: the ids of the attempt. */
export type RequestIds = Pick<AgentRequest, 'run_id' | 'execution_id' | 'attempt_id' | 'attempt_number'>;

/** What the agent is asked for a case: never what is expected of it, and of the metadata what the profile lets it see. */
export function agentRequest(
  ids: RequestIds,
  { agent }: Profile,
  item: PlannedCase,
  door: OpenDoor | null = null,
): AgentRequest {
  const { name, version, provider } = agent;
  const seen = agent.agent_metadata.filter((key) => Object.hasOwn(item.metadata, key));
  return {
    ...ids,
    agent: { name, version, provider },
    ...(door === null ? {} : { gateway: { mcp_url: door.mcp_url, token: door.token } }),
    case: {
      case_id: item.id,
      task_type: item.task_type,
      input: item.input,
      context: item.context,
      tags: item.tags,
      metadata: Object.fromEntries(seen.map((key) => [key, item.metadata[key]])),
    },
  };
}
