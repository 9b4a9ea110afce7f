import type { ApprovalRow } from '../../contract/store.ts';
import { approvalDocument } from '../../gateway/describe.ts';
import type { ApprovalView } from '../../gateway/gateway.ts';
import { settleLeftovers } from '../../gateway/keep.ts';
import type { Command } from '../context.ts';
import { cut, table } from '../format.ts';
import { oneLine } from '../tool-text.ts';
import { withGateway } from '../with-gateway.ts';

interface ApprovalsOptions {
  readonly id?: string;
  readonly all?: boolean;
  readonly limit: number;
}

/** `proctor approvals [ID]`: the calls that wait for an answer, or one of them with everything that is to be seen. */
export const approvals: Command<ApprovalsOptions> = async (context, options) =>
  await withGateway(context, async ({ gateway }, app) => {
    const { output } = context;
    await settleLeftovers(gateway.deps);
    if (options.id !== undefined) {
      const view = await gateway.view(options.id);
      output.result(approvalDocument(view), approvalText(view));
      return 0;
    }
    const rows = await app.store.approvals(!options.all, { after: null, limit: options.limit });
    const views = await Promise.all(rows.map((row) => gateway.view(row.approval_id)));
    if (output.json) for (const view of views) output.line(approvalDocument(view), '');
    else if (views.length === 0) output.result(null, 'nothing waits for an answer');
    else
      output.result(
        null,
        table(
          views.map(({ approval, run }) => [
            approval.approval_id,
            output.style(approval.status === 'pending' ? 'yellow' : 'dim', approval.status),
            oneLine(`${run.source}.${run.name}`),
            oneLine(run.principal),
            cut(oneLine(run.arguments), 60),
            left(approval, app.clock.now()),
          ]),
        ),
      );
    return 0;
  });

/** How long it can still be answered: never longer than it was given, whatever was done to the clock. */
function left({ ended_at, expires_at, requested_at }: ApprovalRow, now: number): string {
  if (ended_at !== null) return '';
  const ms = Math.min(expires_at - now, expires_at - requested_at);
  return ms <= 0 ? 'expired' : `${Math.ceil(ms / 60_000)} min left`;
}

/** All of an approval; the digest at the end is what `--seen` wants. */
export function approvalText({ approval, preview, run }: ApprovalView): string {
  const document = approvalDocument({ approval, preview, run });
  const by = document.decided_by === null ? '' : ` by ${oneLine(document.decided_by)} at ${document.decided_at}`;
  return [
    `approval   ${approval.approval_id}  ${approval.status}${by}`,
    preview.text,
    `approvers  ${document.approvers.map((list) => list.join(' or ')).join(', and ')}`,
    `expires    ${document.expires_at}`,
    `digest     ${preview.digest.slice(0, 16)}`,
  ].join('\n');
}
