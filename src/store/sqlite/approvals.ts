import type { AnswerResult, ApprovalAnswer, ApprovalRow, DecideRequest, NewToolRun } from '../../contract/store.ts';
import { whyNotApprover } from '../../core/gateway.ts';
import type { Keys } from './keys.ts';
import { endApproval, refuse } from './tool-endings.ts';
import { approvalById, hasLapsed, LAPSED, type Numbered, tell, toolRunById } from './tool-rows.ts';
import { beginToolRun, cancelToolRun } from './tool-runs.ts';
import type { Transaction } from './transaction.ts';

/** Answers an approval: one guarded statement, so that of many who answer at once one counts. */
export function answerApproval(tx: Transaction, answer: ApprovalAnswer): AnswerResult {
  const approval = approvalById(tx.connection, answer.approval_id);
  const row = approval === null ? null : toolRunById(tx.connection, approval.tool_run_id);
  if (approval === null || row === null)
    return { type: 'refused', code: 'not_found', message: `there is no approval \`${answer.approval_id}\`` };
  const why = whyNot(tx, approval, row.principal, answer);
  if (why !== null) {
    tellRefused(tx, row, answer, why.code);
    if (why.code === 'expired' && approval.status === 'pending') {
      endApproval(tx, row, approval.approval_id, 'expired', 'nobody answered in time');
      refuse(tx, row, { effect: 'deny', code: 'approval_expired', message: 'nobody answered in time' });
    }
    return { type: 'refused', ...why };
  }
  const approve = answer.decision === 'approve';
  const changed = tx.connection.run(
    `update approval set status = ?1, decided_at = ?2, decided_by = ?3, decided_roles = ?4, decided_on = ?5, comment = ?6, preview_digest = ?7, ended_at = ?8, ended_because = ?9
where approval_id = ?10 and status = 'pending' and expires_at > ?2 and call_digest = ?11`,
    approve ? 'approved' : 'denied',
    tx.now,
    answer.principal,
    JSON.stringify(answer.roles),
    answer.surface,
    answer.comment,
    answer.preview_digest,
    approve ? null : tx.now,
    approve ? null : 'denied',
    approval.approval_id,
    answer.call_digest,
  );
  if (changed !== 1) throw new Error(`${approval.approval_id} could not be answered although nothing spoke against it`);
  const { comment, call_digest, preview_digest, principal: by, roles, surface } = answer;
  tell(tx, row, approve ? 'approval_granted' : 'approval_denied', {
    approval_id: approval.approval_id,
    by,
    roles,
    surface,
    comment,
    call_digest,
    preview_digest,
  });
  if (!approve)
    refuse(tx, row, {
      effect: 'deny',
      code: 'approval_denied',
      message: `${by} denied it${comment === null ? '' : `: ${comment}`}`,
    });
  return { type: 'answered', approval: approvalById(tx.connection, approval.approval_id) ?? approval };
}

/** Answers an approval with a changed call; what policy refuses of it, or does not let this person approve, leaves the old call as it was. */
export function editToolRun(
  tx: Transaction,
  keys: Keys,
  answer: ApprovalAnswer,
  run: NewToolRun,
  request: DecideRequest,
): AnswerResult {
  const approval = approvalById(tx.connection, answer.approval_id);
  const old = approval === null ? null : toolRunById(tx.connection, approval.tool_run_id);
  if (approval === null || old === null)
    return { type: 'refused', code: 'not_found', message: `there is no approval \`${answer.approval_id}\`` };
  const why = whyNot(tx, approval, old.principal, answer);
  if (why !== null) {
    tellRefused(tx, old, answer, why.code);
    return { type: 'refused', ...why };
  }
  if (approval.edit === 0)
    return {
      type: 'refused',
      code: 'not_editable',
      message: 'policy does not let the arguments of this call be changed (`edit`)',
    };
  const begun = beginToolRun(tx, keys, run, request).run;
  // Nobody carries out what an answer dispatches: the caller does, once it finds the approval.
  if (begun.dispatched_at !== null) throw new TypeError('the decision of a changed call asks, or refuses it');
  const next = begun.approval_id === null ? null : approvalById(tx.connection, begun.approval_id);
  if (next === null) {
    const problem = begun.error === null ? null : (JSON.parse(begun.error) as { message: string | null });
    return {
      type: 'refused',
      code: 'not_editable',
      message: `the changed call is refused: ${problem?.message ?? begun.reason}`,
    };
  }
  const { principal: by } = answer;
  const given = {
    ...answer,
    approval_id: next.approval_id,
    call_digest: begun.call_digest,
    decision: 'approve',
  } as const;
  const whyNotNew = whyNot(tx, next, begun.principal, given);
  if (whyNotNew !== null) {
    cancelToolRun(tx, begun.tool_run_id, whyNotNew.code, whyNotNew.message, by);
    return { type: 'refused', code: whyNotNew.code, message: `the changed call is refused: ${whyNotNew.message}` };
  }
  const message = `${by} changed the arguments; the call went on as ${begun.tool_run_id}`;
  cancelToolRun(tx, old.tool_run_id, 'superseded', message, by);
  return answerApproval(tx, given);
}

/** An answer that somebody was not entitled to is told of. */
function tellRefused(
  tx: Transaction,
  row: Numbered,
  { approval_id, principal: by }: ApprovalAnswer,
  code: string,
): void {
  if (code === 'mismatch' || code === 'not_an_approver') tell(tx, row, 'approval_refused', { approval_id, by, code });
}

function whyNot(
  tx: Transaction,
  approval: ApprovalRow,
  requestedBy: string,
  answer: ApprovalAnswer,
): { code: 'not_pending' | 'expired' | 'mismatch' | 'not_an_approver'; message: string } | null {
  const { approval_id, status } = approval;
  if (status !== 'pending')
    return {
      code: status === 'expired' ? 'expired' : 'not_pending',
      message: `${approval_id} is ${status}${approval.decided_by === null ? '' : ` by ${approval.decided_by}`} and cannot be answered any more`,
    };
  if (hasLapsed(tx, approval_id))
    return { code: 'expired', message: `${approval_id} has expired; the call has to be made again` };
  if (approval.call_digest !== answer.call_digest)
    return {
      code: 'mismatch',
      message: `the call that was shown (${answer.call_digest.slice(0, 12)}…) is not the one that ${approval_id} is about; look at it again`,
    };
  const { principal: id, principal_kind: kind, roles } = answer;
  const approver = whyNotApprover(
    {
      approvers: JSON.parse(approval.approvers) as string[][],
      self_approval: approval.self_approval === 1,
      requested_by: requestedBy,
    },
    { id, kind, roles },
  );
  return approver === null ? null : { code: 'not_an_approver', message: approver };
}

/** Ends approvals that have expired, with the calls that wait for them; answers how many. */
export function expireApprovals(tx: Transaction, limit: number): number {
  const expired = tx.connection.all<{ approval_id: string; tool_run_id: string; status: string }>(
    `select a.approval_id, t.tool_run_id, a.status from approval a indexed by approval_open join tool_run t on t.tool_run_no = a.tool_run_no
where a.status in ('pending', 'approved') and ${LAPSED} limit ?3`,
    tx.now,
    tx.schedule,
    limit,
  );
  for (const { approval_id, tool_run_id, status } of expired) {
    const row = toolRunById(tx.connection, tool_run_id);
    if (row === null) continue;
    const why = status === 'pending' ? 'nobody answered in time' : 'it was approved, but nobody made the call in time';
    endApproval(tx, row, approval_id, 'expired', why);
    refuse(tx, row, { effect: 'deny', code: 'approval_expired', message: why });
  }
  return expired.length;
}
