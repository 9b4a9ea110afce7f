import type { AgentFailure, Envelope, ToolCall, Usage } from '../../contract/agent.ts';
import type { Finding } from '../../contract/evaluator.ts';
import type { Redaction } from '../../contract/redaction.ts';

/** An envelope as it may be kept, and which of its members held a secret; none where it is the envelope as it came. */
export interface HiddenEnvelope {
  readonly envelope: Envelope;
  readonly redacted: readonly string[];
}

/** The envelope without secrets, in the shape of an envelope: what may be anything is redacted, a count that is a secret becomes unknown. */
export function hiddenEnvelope(envelope: Envelope, redaction: Redaction): HiddenEnvelope {
  const { metadata, raw, structured, text, tool_calls, trace, turns, usage } = envelope;
  const clean: Envelope = {
    metadata: redaction.json(metadata),
    raw: redaction.json(raw),
    structured: redaction.json(structured),
    text: text === null ? null : redaction.text(text),
    tool_calls: same(tool_calls, (call) => hiddenCall(call, redaction)),
    trace: redaction.json(trace),
    ...(turns === undefined
      ? {}
      : {
          turns: same(turns, (turn) => {
            const hidden = {
              latency_ms: turn.latency_ms,
              structured: redaction.json(turn.structured),
              text: turn.text === null ? null : redaction.text(turn.text),
              tool_calls: same(turn.tool_calls, (call) => hiddenCall(call, redaction)),
              usage: hiddenUsage(turn.usage, redaction),
            };
            return changed(turn, hidden).length === 0 ? turn : hidden;
          }),
        }),
    usage: hiddenUsage(usage, redaction),
  };
  const redacted = changed(envelope, clean);
  return { envelope: redacted.length === 0 ? envelope : clean, redacted };
}

/** What an evaluator found, without secrets in what it says; what it decides stays. */
export function hiddenFinding<F extends Pick<Finding, 'reason' | 'evidence'>>(finding: F, redaction: Redaction): F {
  const reason = finding.reason === null ? null : redaction.text(finding.reason);
  const evidence = redaction.json(finding.evidence);
  return reason === finding.reason && evidence === finding.evidence ? finding : { ...finding, reason, evidence };
}

/** A failure without secrets in what it says. */
export function hiddenFailure(failure: AgentFailure, redaction: Redaction): AgentFailure {
  const message = redaction.text(failure.message);
  const evidence = redaction.json(failure.evidence);
  return message === failure.message && evidence === failure.evidence ? failure : { ...failure, message, evidence };
}

function hiddenCall(call: ToolCall, redaction: Redaction): ToolCall {
  const hidden = {
    ...call,
    arguments: redaction.json(call.arguments),
    name: redaction.text(call.name),
    result: redaction.json(call.result),
  };
  return changed(call, hidden).length === 0 ? call : hidden;
}

function hiddenUsage(usage: Usage | null, redaction: Redaction): Usage | null {
  if (usage === null || redaction.json(usage) === usage) return usage;
  const count = (value: number | null) => (redaction.json(value) === value ? value : null);
  return {
    cost_micro_usd: count(usage.cost_micro_usd),
    input_tokens: count(usage.input_tokens),
    output_tokens: count(usage.output_tokens),
    total_tokens: count(usage.total_tokens),
  };
}

/** The list with every item hidden; the list itself where that changes none. */
function same<T>(list: T[], hide: (item: T) => T): T[] {
  const hidden = list.map(hide);
  return hidden.every((item, index) => item === list[index]) ? list : hidden;
}

/** The members whose values differ, in their order. */
function changed<T extends object>(before: T, after: T): string[] {
  return Object.keys(after).filter((key) => before[key as keyof T] !== after[key as keyof T]);
}
