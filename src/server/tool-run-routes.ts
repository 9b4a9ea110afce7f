import { Hono } from 'hono';
import { z } from 'zod';
import { ProctorError } from '../contract/problem.ts';
import { toolRunDocument } from '../core/tool-run-document.ts';
import { gatewayEventDocument } from '../gateway/describe.ts';
import type { Gateway } from '../gateway/gateway.ts';
import { shownOutput } from '../gateway/output.ts';
import type { Caller } from '../gateway/ports.ts';
import type { ServerEnv } from './app.ts';
import { jsonBody, pageSize } from './request.ts';

const callSchema = z.strictObject({
  tool: z.string().min(1).max(200),
  arguments: z.record(z.string(), z.json()).default({}),
  wait_ms: z
    .number()
    .int()
    .min(0)
    .max(300_000)
    .default(0)
    .describe('how long to wait for an answer, where policy asks'),
  idempotency_key: z.string().min(1).max(200).nullable().default(null),
  request_id: z.string().max(200).nullable().default(null),
});

const RUNS_MS = 300_000;

/** `GET /api/tool_runs`, `GET /api/tool_runs/ID`, `…/events`, `POST /api/tool_runs`, `POST /api/tool_runs/ID/cancel`; agents see their own only. */
export function toolRunRoutes(gateway: Gateway): Hono<ServerEnv> {
  const { store } = gateway.deps;
  const find = async (id: string, caller: Caller) => {
    const row = await store.toolRun(id);
    if (row === null || (caller.principal.kind === 'agent' && row.principal !== caller.principal.id))
      throw new ProctorError('not_found', `there is no tool run \`${id}\``);
    return row;
  };
  return new Hono<ServerEnv>()
    .get('/', async (context) => {
      const { principal } = context.get('caller');
      const { status, tool, run_id, principal: of, after, limit } = context.req.query();
      const filter = {
        ...(status === undefined ? {} : { status }),
        ...(tool === undefined ? {} : { tool }),
        ...(run_id === undefined ? {} : { run_id }),
        ...(principal.kind === 'agent' ? { principal: principal.id } : of === undefined ? {} : { principal: of }),
      };
      const rows = await store.toolRuns(filter, { after: after ?? null, limit: pageSize(limit) });
      return context.json({ tool_runs: rows.map((row) => toolRunDocument(row, null)) });
    })
    .get('/:id', async (context) => {
      const row = await find(context.req.param('id'), context.get('caller'));
      return context.json(toolRunDocument(row, await shownOutput(row, gateway.deps)));
    })
    .get('/:id/events', async (context) => {
      const row = await find(context.req.param('id'), context.get('caller'));
      const events = await store.gatewayEvents({ tool_run_id: row.tool_run_id }, { after: null, limit: 1_000 });
      return context.json({ events: events.map((event) => gatewayEventDocument(event, row)) });
    })
    .post('/', async (context) => {
      const caller = context.get('caller');
      const { wait_ms, ...request } = await jsonBody(context.req.raw, callSchema);
      const { signal } = context.req.raw;
      const call = await gateway.start({ ...caller, surface: 'api' }, request, signal);
      const first = await call.next({ hold_ms: 0, signal });
      const waits = first.type === 'pending' && first.run.status === 'approval_required';
      const leg = first.type === 'done' ? first : await call.next({ hold_ms: waits ? wait_ms : RUNS_MS, signal });
      const document = toolRunDocument(leg.run, leg.type === 'done' ? leg.output : null);
      return context.json(document, leg.type === 'done' ? 200 : 202);
    })
    .post('/:id/cancel', async (context) => {
      const caller = context.get('caller');
      const row = await find(context.req.param('id'), caller);
      const { id, roles } = caller.principal;
      if (row.principal !== id && !roles.includes('operator'))
        throw new ProctorError(
          'forbidden',
          `${row.tool_run_id} is a call of ${row.principal}: ${row.principal} or a principal with the role operator may stop it, and ${id} is neither`,
        );
      const outcome = await gateway.cancel(row.tool_run_id, 'over HTTP', caller.principal.id);
      if (outcome === 'ended')
        throw new ProctorError('illegal_transition', `${row.tool_run_id} has ended: there is nothing to stop`);
      return context.json({ tool_run_id: row.tool_run_id, outcome });
    });
}
