import type { AgentKind } from '../../contract/agent.ts';
import { diagnostic, ProctorError } from '../../contract/problem.ts';
import { PLACEHOLDER_AGENT } from '../../contract/profile.ts';
import { command } from './command.ts';
import { echo } from './echo.ts';
import { http } from './http.ts';
import { module } from './module.ts';
import { replay } from './replay.ts';

/** Every agent kind of this version; a new one is one file and one line here. */
export const agentKinds: readonly AgentKind[] = [http, command, module, replay, echo];

const LATER: ReadonlySet<string> = new Set(['runtime', 'workflow']);

/** The agent kind of a profile's `agent.kind`; throws `invalid_profile` for an unknown one, `unsupported` for one that is to come. */
export function agentKindOf(kind: string): AgentKind {
  const found = agentKinds.find((candidate) => candidate.kind === kind);
  if (found !== undefined) return found;
  const known = agentKinds.map((candidate) => `\`${candidate.kind}\``).join(', ');
  const message = LATER.has(kind)
    ? `the agent kind \`${kind}\` arrives in a later version`
    : kind === PLACEHOLDER_AGENT
      ? `\`${kind}\` stands where your agent belongs: the import found no counterpart for it`
      : `there is no agent kind \`${kind}\``;
  throw new ProctorError(LATER.has(kind) ? 'unsupported' : 'invalid_profile', `${message}; this version has ${known}`, {
    diagnostics: [diagnostic(message, { field: 'agent.kind', hint: `use one of ${known}` })],
  });
}
