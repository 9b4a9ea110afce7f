import type { Principal } from '../contract/principal.ts';
import { ProctorError } from '../contract/problem.ts';
import type { AnswerResult, ApprovalRow, ToolRunRow } from '../contract/store.ts';
import { type ApprovalPreview, approvalPreview } from '../core/approval-preview.ts';
import type { Catalogue } from './catalogue.ts';
import { keepPolicy } from './keep-policy.ts';
import type { Caller, GatewayDeps } from './ports.ts';
import { prepare } from './prepare.ts';

/** A person's answer, as a surface hands it in. */
export interface Answer {
  readonly approval_id: string;
  readonly decision: 'approve' | 'deny';
  readonly who: Principal;
  /** Of the call that the person was shown. */
  readonly call_digest: string;
  readonly preview_digest: string;
  readonly comment: string | null;
  readonly surface: string;
  /** Other arguments than those asked for; null: as they are. */
  readonly edited: unknown;
}

/** An approval with everything that a person has to see. */
export interface ApprovalView {
  readonly approval: ApprovalRow;
  readonly run: ToolRunRow;
  readonly preview: ApprovalPreview;
}

/** An approval as a person is to see it. */
export async function viewApproval({ store }: Pick<GatewayDeps, 'store'>, approvalId: string): Promise<ApprovalView> {
  const approval = await store.approval(approvalId);
  const run = approval === null ? null : await store.toolRun(approval.tool_run_id);
  if (approval === null || run === null)
    throw new ProctorError('not_found', `there is no approval \`${approvalId}\`; \`proctor approvals\` lists them`);
  const tool = `${run.source}.${run.name}`;
  const last_approved = await store.lastApproved(run.source, run.name);
  const { risk, principal, agent } = run;
  const preview = approvalPreview({
    tool,
    risk,
    principal,
    agent,
    reason: approval.reason,
    arguments: run.arguments,
    last_approved,
  });
  return { approval, run, preview };
}

/** Answers an approval; with other arguments, the changed call takes the place of the one that was asked for. */
export async function answerApproval(
  deps: GatewayDeps,
  catalogue: Catalogue,
  answer: Answer,
  signal: AbortSignal,
): Promise<AnswerResult> {
  const { approval_id, decision, who, call_digest, preview_digest, surface } = answer;
  const comment = answer.comment === null ? null : deps.secrets.text(answer.comment);
  const given = { approval_id, decision, call_digest, preview_digest, comment, surface };
  const approver = { principal: who.id, principal_kind: who.kind, roles: who.roles };
  if (answer.edited === null || decision === 'deny') return await deps.store.answerApproval({ ...given, ...approver });
  await deps.opened();
  const { run, approval } = await viewApproval(deps, approval_id);
  if (run.run_id !== null)
    return {
      type: 'refused',
      code: 'not_editable',
      message: 'calls of an evaluation are answered by its declared operator',
    };
  const principal: Principal = {
    id: run.principal,
    kind: run.principal_kind,
    roles: JSON.parse(run.roles) as string[],
  };
  const caller: Caller = {
    principal,
    surface: run.surface as Caller['surface'],
    session: run.tool_run_id,
    bound: null,
  };
  const { source, name, request_id, trace_id } = run;
  const changed = {
    tool: `${source}.${name}`,
    arguments: answer.edited,
    request_id,
    trace_id,
    edited_from: run.tool_run_id,
  };
  const prepared = await prepare(deps, catalogue, caller, changed, signal);
  await keepPolicy(deps.store, prepared.policy);
  const request = prepared.request(null);
  return await deps.store.editToolRun({ ...given, ...approver }, prepared.run, {
    ...request,
    // What policy would allow as it is now still waits for this answer, so that the caller who waits carries it out.
    decide: (facts) => {
      const decided = request.decide({ ...facts, pending: 0 });
      return decided.effect === 'allow' ? { ...decided, effect: 'ask', ask: termsOf(approval, run) } : decided;
    },
  });
}

function termsOf(approval: ApprovalRow, run: ToolRunRow) {
  return {
    approvers: JSON.parse(approval.approvers) as string[][],
    expires_ms: Math.max(1, approval.expires_at - approval.requested_at),
    self_approval: approval.self_approval === 1,
    edit: approval.edit === 1,
    execute: run.execute ?? ('attended' as const),
    reason: approval.reason,
  };
}
