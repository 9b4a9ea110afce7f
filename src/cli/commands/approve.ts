import { ProctorError } from '../../contract/problem.ts';
import { toolRunDocument } from '../../core/tool-run-document.ts';
import type { ApprovalView } from '../../gateway/gateway.ts';
import type { GatewayApp } from '../../gateway-app.ts';
import { parseStrictJson } from '../../lib/strict-json.ts';
import type { Command, CommandContext } from '../context.ts';
import { onInterrupt } from '../signals.ts';
import { oneLine, outputText, statusText } from '../tool-text.ts';
import { withGateway } from '../with-gateway.ts';
import { approvalText } from './approvals.ts';

interface AnswerOptions {
  readonly id: string;
  readonly comment?: string;
  readonly edit?: string;
  readonly seen?: string;
}

/** How long the caller that waits is left to carry the call out itself. */
const CALLER_FIRST_MS = 1_500;

/** `proctor approve ID`: lets a call be carried out; where nobody waits for it and policy says so, at once by this command. */
export const approve: Command<AnswerOptions> = async (context, options) =>
  await withGateway(context, async (gateway, app) => {
    const { output } = context;
    if (options.edit !== undefined && parseStrictJson(options.edit).type === 'invalid')
      throw new ProctorError('usage', '--edit is not JSON; write the whole arguments, as in --edit \'{"volume":10}\'');
    const view = await gateway.gateway.view(options.id);
    output.note(approvalText(view));
    if (view.preview.long && !seen(view, options.seen))
      throw new ProctorError(
        'usage',
        `this call is long: read all of it above, then repeat with --seen ${view.preview.digest.slice(0, 16)}, the digest at its end`,
      );
    const answered = await answer(gateway, app.principal, view, 'approve', options);
    const id = answered.tool_run_id;
    const outcome = answered.execute === 'on_approval' ? await carriedOut(context, gateway, app.principal, id) : null;
    const row = outcome?.run ?? (await app.store.toolRun(id));
    if (row === null) throw new ProctorError('not_found', `there is no tool run \`${id}\``);
    const document = toolRunDocument(row, outcome?.type === 'done' ? outcome.output : null);
    const result = { approval_id: answered.approval_id, status: 'approved', tool_run: document };
    if (outcome?.type !== 'done') {
      output.result(result, `approved; ${id} is carried out when its caller comes for it`);
      return 0;
    }
    output.result(result, outcome.output === null ? '' : outputText(outcome.output));
    output.note(
      `${statusText(document.status, output)} ${oneLine(document.tool)} (${id})${document.error === null ? '' : `: ${oneLine(document.error.message ?? '')}`}`,
    );
    return document.status === 'ok' ? 0 : 1;
  });

/** `proctor deny ID`. */
export const deny: Command<AnswerOptions> = async (context, options) =>
  await withGateway(context, async (gateway, app) => {
    const view = await gateway.gateway.view(options.id);
    const { approval_id, tool_run_id } = await answer(gateway, app.principal, view, 'deny', options);
    context.output.result({ approval_id, status: 'denied', tool_run_id }, `denied; ${tool_run_id} is not carried out`);
    return 0;
  });

async function answer(
  gateway: GatewayApp,
  principal: string,
  { approval, preview }: ApprovalView,
  decision: 'approve' | 'deny',
  { comment, edit }: AnswerOptions,
): Promise<{ approval_id: string; tool_run_id: string; execute: string | null }> {
  const result = await gateway.gateway.answer(
    {
      approval_id: approval.approval_id,
      decision,
      who: gateway.principal(principal),
      call_digest: approval.call_digest,
      preview_digest: preview.digest,
      comment: comment ?? null,
      surface: 'cli',
      edited: edit ?? null,
    },
    new AbortController().signal,
  );
  if (result.type === 'refused') throw new ProctorError(CODES[result.code], result.message);
  const run = await gateway.gateway.deps.store.toolRun(result.approval.tool_run_id);
  return {
    approval_id: result.approval.approval_id,
    tool_run_id: result.approval.tool_run_id,
    execute: run?.execute ?? null,
  };
}

const CODES = {
  not_found: 'not_found',
  not_pending: 'illegal_transition',
  expired: 'illegal_transition',
  mismatch: 'illegal_transition',
  not_editable: 'illegal_transition',
  not_an_approver: 'forbidden',
} as const;

/** Leaves the call to the caller that waits, if there is one, and carries it out otherwise; who is first does it, once. */
async function carriedOut({ output }: CommandContext, gateway: GatewayApp, principal: string, toolRunId: string) {
  using interruption = onInterrupt(output, () => undefined);
  const { store, clock } = gateway.gateway.deps;
  for (let waited = 0; waited < CALLER_FIRST_MS; waited += 100) {
    await clock.sleep(100);
    if ((await store.toolRun(toolRunId))?.status !== 'approval_required') break;
  }
  const call = await gateway.gateway.carryOn(toolRunId);
  const for_caller = call.caller.principal.id === principal;
  return await call.next({ hold_ms: 2_147_000_000, signal: interruption.drain, for_caller });
}

function seen({ preview }: ApprovalView, digest: string | undefined): boolean {
  return digest !== undefined && digest.length >= 8 && preview.digest.startsWith(digest);
}
