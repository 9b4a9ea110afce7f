import { Hono } from 'hono';
import { z } from 'zod';
import { ProctorError } from '../contract/problem.ts';
import { approvalDocument } from '../gateway/describe.ts';
import type { Gateway } from '../gateway/gateway.ts';
import type { Caller } from '../gateway/ports.ts';
import type { ServerEnv } from './app.ts';
import { jsonBody, pageSize } from './request.ts';

const answerSchema = z.strictObject({
  approval_id: z.string().max(100),
  decision: z.enum(['approve', 'deny']),
  call_digest: z.string().length(64),
  preview_digest: z.string().length(64),
  comment: z.string().max(2_000).nullable().default(null),
  edited_arguments: z.record(z.string(), z.json()).nullable().default(null),
});

/** `GET /api/approvals`, `GET /api/approvals/ID`, `POST /api/approvals`: for people and services, never for agents. */
export function approvalRoutes(gateway: Gateway): Hono<ServerEnv> {
  const { store } = gateway.deps;
  return new Hono<ServerEnv>()
    .get('/', async (context) => {
      person(context.get('caller'));
      const page = { after: context.req.query('after') ?? null, limit: pageSize(context.req.query('limit')) };
      const rows = await store.approvals(context.req.query('all') !== 'true', page);
      const views = await Promise.all(rows.map((row) => gateway.view(row.approval_id)));
      return context.json({ approvals: views.map(approvalDocument) });
    })
    .get('/:id', async (context) => {
      person(context.get('caller'));
      return context.json(approvalDocument(await gateway.view(context.req.param('id'))));
    })
    .post('/', async (context) => {
      const who = person(context.get('caller'));
      const { edited_arguments: edited, ...given } = await jsonBody(context.req.raw, answerSchema);
      const { preview } = await gateway.view(given.approval_id);
      // What was seen is what is answered: a view that has changed since (another last call, other arguments) is looked at again.
      if (preview.digest !== given.preview_digest)
        throw new ProctorError('mismatch', 'this is not what the approval shows now; look at it again');
      const result = await gateway.answer({ ...given, who, surface: 'api', edited }, context.req.raw.signal);
      if (result.type === 'refused')
        throw new ProctorError(result.code === 'expired' ? 'approval_expired' : result.code, result.message);
      void gateway.carryOnIfUnattended(result.approval);
      return context.json(approvalDocument(await gateway.view(result.approval.approval_id)));
    });
}

function person({ principal }: Caller) {
  if (principal.kind === 'agent')
    throw new ProctorError('forbidden', `${principal.id} is an agent, and agents cannot answer approvals`);
  return principal;
}
