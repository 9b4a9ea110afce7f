import { ProctorError } from '../contract/problem.ts';
import { replaceReferences, secretReference } from '../contract/secret-reference.ts';
import type { ToolRunEnd, ToolRunRow } from '../contract/store.ts';
import type { ToolAnswer, ToolConversation } from '../contract/tool.ts';
import { linkedSignal } from '../lib/abort.ts';
import { mapTexts } from '../lib/json-texts.ts';
import type { Catalogue, CatalogueTool } from './catalogue.ts';
import type { Conversation } from './conversation.ts';
import { keepOutput } from './output.ts';
import type { GatewayDeps } from './ports.ts';

/** What an invocation needs besides the gateway's own. */
export interface Invocation {
  readonly run: ToolRunRow;
  readonly tool: CatalogueTool;
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly timeout_ms: number;
  readonly max_output_bytes: number;
  readonly conversation: Conversation;
  readonly signal: AbortSignal;
}

/** A source that overruns its limit by this much is not waited for any longer. */
const GRACE_MS = 2_000;
/** No tool's output may be larger, whatever is shown of it: its canonical form and digest are made on the event loop (45 ms for so much text). */
const MOST_OUTPUT_BYTES = 4 * 1024 * 1024;

/** Carries a dispatched call out and answers how it ends; everything that goes wrong is an end. */
export async function carryOut(deps: GatewayDeps, catalogue: Catalogue, call: Invocation): Promise<ToolRunEnd> {
  const started = deps.clock.monotonic();
  const answer = await invoke(deps, catalogue, call);
  const latency_ms = Math.round(deps.clock.monotonic() - started);
  const end = (
    status: ToolRunEnd['status'],
    error: ToolRunEnd['error'],
    kept: Partial<Pick<ToolRunEnd, 'output' | 'output_artifact' | 'output_digest' | 'output_bytes'>> = {},
  ): ToolRunEnd => ({
    tool_run_id: call.run.tool_run_id,
    session_id: deps.session_id,
    status,
    reason: error?.code ?? null,
    error: error === null ? null : { ...error, message: deps.secrets.text(error.message.toWellFormed()) },
    output: null,
    output_artifact: null,
    output_digest: null,
    output_bytes: null,
    ...kept,
    latency_ms,
  });
  try {
    if (answer.type === 'timeout') return end('timeout', { code: 'timeout', message: answer.message });
    if (answer.type === 'cancelled')
      return end('error', { code: 'cancelled', message: `${answer.message}; it may have been carried out in part` });
    const output = answer.output;
    const kept = output === null ? {} : await keepOutput(output, call.max_output_bytes, deps.secrets, deps.artifacts);
    const { shown: _shown, ...columns } = kept as Awaited<ReturnType<typeof keepOutput>>;
    if (answer.type === 'error') return end('error', { code: answer.code, message: answer.message }, columns);
    const misfit = await outputMisfit(deps, call.tool, answer.output.structured);
    return misfit === null
      ? end('ok', null, columns)
      : end('error', { code: 'invalid_output', message: misfit }, columns);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    if (error instanceof TypeError || error instanceof RangeError || error instanceof SyntaxError)
      return end('error', { code: 'invalid_output', message: `the output cannot be recorded: ${message}` });
    // It was carried out: an end that says so is better than none.
    const lost = `the tool was called, but its output could not be kept: ${message}`;
    return end('error', { code: 'output_not_kept', message: lost });
  }
}

/** Why the arguments do not fit the tool's schema; null when they do. */
export async function argumentsMisfit(
  deps: Pick<GatewayDeps, 'schemas'>,
  { definition, digest, source }: CatalogueTool,
  value: unknown,
): Promise<string | null> {
  const checked = await deps.schemas.faults(`${digest}/in`, definition.input_schema, value, source.own);
  if (checked.type === 'refused') return `the tool's input schema cannot be used: ${checked.message}`;
  return checked.faults.length === 0
    ? null
    : `the arguments do not fit the tool's schema: ${checked.faults.join('; ')}`;
}

async function outputMisfit(
  deps: Pick<GatewayDeps, 'schemas'>,
  { definition, digest, source }: CatalogueTool,
  structured: unknown,
): Promise<string | null> {
  if (definition.output_schema === null) return null;
  if (structured === null || structured === undefined)
    return 'the tool has an output schema, but it gave no structured output';
  const checked = await deps.schemas.faults(`${digest}/out`, definition.output_schema, structured, source.own);
  if (checked.type === 'refused') return `the tool's output schema cannot be used: ${checked.message}`;
  return checked.faults.length === 0 ? null : `the output does not fit the tool's schema: ${checked.faults.join('; ')}`;
}

async function invoke(deps: GatewayDeps, catalogue: Catalogue, call: Invocation): Promise<ToolAnswer> {
  const { tool, run, timeout_ms, conversation } = call;
  using limit = linkedSignal(call.signal, timeout_ms + GRACE_MS, () => new Error('overrun'));
  const overrun = new Promise<ToolAnswer>((resolve) => {
    limit.signal.addEventListener('abort', () => {
      if (!call.signal.aborted)
        resolve({ type: 'timeout', message: `the tool gave no answer within ${timeout_ms} ms and was given up` });
      // A source that does not stop when told to is not waited for either.
      else setTimeout(() => resolve({ type: 'cancelled', message: reasonOf(call.signal) }), GRACE_MS).unref();
    });
  });
  const answer = (async (): Promise<ToolAnswer> => {
    try {
      const source = await catalogue.source(tool.source);
      return await source.invokeTool({
        name: tool.definition.name,
        raw: tool.definition.raw,
        arguments: withSecrets(call.arguments, deps.secrets),
        idempotency_key: run.tool_run_id,
        timeout_ms,
        max_output_bytes: MOST_OUTPUT_BYTES,
        signal: limit.signal,
        conversation: discreet(conversation, deps.secrets),
        redact: (text) => deps.secrets.text(text),
      });
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      const code = ProctorError.is(error) ? error.code : 'tool_error';
      return { type: 'error', code, message, output: null, sent: !ProctorError.is(error) };
    }
  })();
  const ended = await Promise.race([answer, overrun]);
  return ended.type === 'cancelled' ? { ...ended, message: reasonOf(call.signal) ?? ended.message } : ended;
}

/** The arguments with secrets in place of their references: made at the last moment, and kept nowhere. `${env:…}` is a text like any other. */
function withSecrets(
  value: Invocation['arguments'],
  secrets: Pick<GatewayDeps['secrets'], 'resolve'>,
): Invocation['arguments'] {
  const replace = (text: string) =>
    replaceReferences(text, (kind, name) =>
      kind === 'secret' ? secrets.resolve(secretReference(name)) : `\${env:${name}}`,
    );
  return mapTexts(value, replace) as Invocation['arguments'];
}

/** What a tool tells and asks while it runs is handed on without secrets. */
function discreet(inner: ToolConversation, secrets: GatewayDeps['secrets']): ToolConversation {
  const orNull = (text: string | null) => (text === null ? null : secrets.text(text));
  return {
    get abilities() {
      return inner.abilities;
    },
    progress: (progress, total, message) => inner.progress(progress, total, orNull(message)),
    log: (level, data, logger) => inner.log(secrets.text(level), secrets.json(data), orNull(logger)),
    ask: (method, params, signal, name) => inner.ask(method, secrets.json(params), signal, name),
  };
}

function reasonOf(signal: AbortSignal): string {
  return signal.reason instanceof Error ? signal.reason.message : 'the call was stopped';
}
