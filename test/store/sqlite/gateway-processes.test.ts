import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { systemClock } from '../../../src/lib/clock.ts';
import { openSqliteStore } from '../../../src/store/sqlite/store.ts';
import { plain, temporaryFolder } from '../../support/store-fixture.ts';
import { answerTo, decideBy, newToolRun, prepareGateway, requestBy } from '../../support/store-gateway.ts';
import type { GatewayReport } from '../../support/store-gateway-process.ts';
import { race } from '../../support/store-processes.ts';

const APPROVALS = 600;
const DIES_AT = 5;

it('five processes that race for the same approvals make each call exactly once; one that dies leaves what it made as unknown, never made again', async ({
  annotate,
}) => {
  using folder = temporaryFolder();
  const [path, effects] = [folder.file('proctor.db'), folder.file('effects.txt')];
  const store = openSqliteStore({ path });
  await prepareGateway(store);
  const calls = Array.from({ length: APPROVALS }, (_, n) => newToolRun(systemClock.now(), { arguments: `{"n":${n}}` }));
  await Promise.all(
    calls.map(async (call) => {
      const decide = decideBy('ask', { terms: { expires_ms: 600_000 } });
      const { approval_id } = (await store.beginToolRun(call, requestBy(decide))).run;
      await store.answerApproval(answerTo({ approval_id: approval_id ?? '', call_digest: call.call_digest }));
    }),
  );

  const sessions = ['wse_p1', 'wse_p2', 'wse_p3', 'wse_p4', 'wse_dies'];
  const reports = await race<GatewayReport>(
    './store-gateway-process.ts',
    sessions.map((id) => [path, id, effects, id === 'wse_dies' ? String(DIES_AT) : '']),
  );
  await annotate(`made ${reports.map(({ made, lost }) => `${made} (${lost} lost)`).join(', ')}`);

  const unknown = await store.reapToolRuns(['wse_dies'], APPROVALS);
  expect(unknown.length).toBeGreaterThan(0);
  expect(await store.reapToolRuns(sessions, APPROVALS)).toEqual([]);
  const made = readFileSync(effects, 'utf8').trim().split('\n');
  expect(new Set(made).size, 'a call was made twice').toBe(made.length);
  const rows = await store.toolRuns({}, { after: null, limit: APPROVALS + 1 });
  expect(rows).toHaveLength(APPROVALS);
  const ok = rows.filter((row) => row.status === 'ok').map((row) => row.tool_run_id);
  const lost = rows.filter((row) => row.reason === 'TOOL_OUTCOME_UNKNOWN').map((row) => row.tool_run_id);
  expect(lost.sort()).toEqual(unknown.sort());
  expect(ok.length + lost.length).toBe(APPROVALS);
  expect(ok.filter((id) => !made.includes(id))).toEqual([]);
  expect(made.filter((id) => !ok.includes(id) && !lost.includes(id))).toEqual([]);
  expect(reports.filter((report) => report.made > 0).length).toBeGreaterThan(2);
  expect(
    reports.reduce((sum, report) => sum + report.lost, 0),
    'nobody raced',
  ).toBeGreaterThan(0);
  expect(plain(await store.invariants())).toEqual([]);
  await store.close();
});
