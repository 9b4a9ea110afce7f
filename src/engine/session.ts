import type { AgentAnswer, AgentFailure, AgentRequest, Envelope } from '../contract/agent.ts';
import { sessionEnvelope, type Turn } from '../core/session.ts';
import type { Clock } from '../lib/clock.ts';

/** Makes one call of the agent. */
export type Invoke = (request: AgentRequest) => Promise<AgentAnswer>;

/**
 * Has a session with the agent: one call a turn, each with what was said before. A turn that fails ends the session with that failure, and
 * so does `answered`, which sees what the session came to after each turn, when it gives one. The session's id is the attempt's: an agent that keeps state of its own keeps it by that.
 */
export async function haveSession(
  request: AgentRequest,
  turns: readonly Turn[],
  clock: Clock,
  invoke: Invoke,
  answered: (soFar: Envelope) => AgentFailure | null = () => null,
): Promise<AgentAnswer> {
  const answers: { envelope: Envelope; latency_ms: number }[] = [];
  const history: { input: unknown; text: string | null; structured: unknown }[] = [];
  for (const [index, { input }] of turns.entries()) {
    const started = clock.monotonic();
    const answer = await invoke({
      ...request,
      case: { ...request.case, input },
      session: { session_id: request.attempt_id, turn: index + 1, turns: turns.length, history: [...history] },
    });
    if (answer.type === 'failure')
      return { ...answer, message: `turn ${index + 1} of ${turns.length}: ${answer.message}` };
    const { envelope } = answer;
    answers.push({ envelope, latency_ms: Math.round(clock.monotonic() - started) });
    history.push({ input, text: envelope.text, structured: envelope.structured });
    const ended = answered(sessionEnvelope(answers));
    if (ended !== null) return ended;
  }
  return { type: 'envelope', envelope: sessionEnvelope(answers) };
}
