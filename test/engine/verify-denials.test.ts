import { copyFile, readFile } from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createApp, verifyBundleFile } from '../../src/app.ts';
import type { ExecutionDocument, RunDocument } from '../../src/contract/documents.ts';
import type { RunRow } from '../../src/contract/store.ts';
import { executionContent } from '../../src/core/evidence.ts';
import { findRun } from '../../src/engine/run.ts';
import type { Difference } from '../../src/engine/verify/differences.ts';
import { verifyRun } from '../../src/engine/verify/verify-run.ts';
import { canonicalJson } from '../../src/lib/canonical-json.ts';
import { alterBundle } from '../support/bundle-edit.ts';
import { proctor } from '../support/cli.ts';
import { gatedProject } from '../support/gated-agent.ts';
import { setCell } from '../support/tampered-cells.ts';
import { LEVELS, type Level, rewrite } from '../support/tampered-rewrite.ts';
import { dropTriggers } from '../support/tampered-run.ts';
import type { ToolProject } from '../support/tool-project.ts';

const POLICY = `version: 1
rules:
  - { id: reading, when: { risk: read_only }, effect: allow }
  - { id: never, when: { risk: write }, effect: deny }
`;
const READ = ['box__read', { text: 'a' }];
const WRITE = ['box__write', { text: 'a' }];
const BUNDLE = 'run.proctor';
const IN_BUNDLES = LEVELS.filter((level) => level !== 'counters');

let project: ToolProject;
let run: RunRow;

beforeAll(async () => {
  project = await gatedProject('{ operator: { default: deny } }', [
    { id: 'answers', input: { calls: [WRITE] }, expected: 'no: policy' },
    { id: 'denied', input: { calls: [READ, WRITE], crash: true }, expected: '' },
    { id: 'allowed', input: { calls: [READ], crash: true }, expected: '' },
  ]);
  await project.write('policy.yaml', POLICY);
  expect((await proctor(project.path, ['run', 'profile.yaml', '--quiet'])).code).toBe(1);
  expect((await proctor(project.path, ['export', 'last', '--format', 'bundle', '--out', BUNDLE])).code).toBe(0);
  await copyFile(file('.proctor/proctor.db'), file('kept.db'));
  run = await withApp((app) => findRun(app.store, 'last'));
});

afterAll(async () => await project[Symbol.asyncDispose]());

const file = (name: string) => `${project.path}/${name}`;

async function withApp<T>(use: (app: Awaited<ReturnType<typeof createApp>>) => Promise<T>): Promise<T> {
  await using app = await createApp({ cwd: project.path, environment: {} });
  return await use(app);
}

/** Says of a case's failure that it was another's fault, in every row and under every hash, as somebody would who knows all there is to know. */
function blame(
  db: DatabaseSync,
  caseId: string,
  [fault, code]: readonly [string, string],
  levels: readonly Level[] = LEVELS,
): void {
  const [row] = db
    .prepare(
      "select ordinal, attempt, seq, body, aggregate from evidence join result using (run_no, ordinal, attempt) join execution using (run_no, ordinal) where case_id = ? and kind = 'failure'",
    )
    .all(caseId);
  if (row === undefined) throw new Error(`${caseId} has no failure`);
  const of = `ordinal = ${row['ordinal']}`;
  const attempt = `${of} and attempt = ${row['attempt']}`;
  const aggregate = JSON.parse(String(row['aggregate'])) as null;
  const content = executionContent({
    status: 'failed',
    fault,
    envelope: null,
    evaluator_results: [],
    aggregate,
  } as never);
  rewrite(
    db,
    run,
    () => {
      const body = { ...(JSON.parse(String(row['body'])) as object), fault, code };
      setCell(db, 'evidence', `${attempt} and seq = ${row['seq']}`, 'body', canonicalJson(body));
      setCell(db, 'attempt', attempt, 'fault', fault);
      setCell(db, 'attempt', attempt, 'reason', code);
      setCell(db, 'result', of, 'fault', fault);
      setCell(db, 'result', of, 'content', content);
    },
    levels,
  );
}

const FORGERIES = [
  ['denied', 'agent', 'exit_code', 'policy denied a call of this attempt, so its failure is policy’s'],
  ['denied', 'agent', 'limit_tokens', 'policy denied a call of this attempt, so its failure is policy’s'],
  ['denied', 'agent', 'time_limit', 'policy denied a call of this attempt, so its failure is policy’s'],
  ['denied', 'policy', 'policy_denied: box.read', 'policy denied no such call in this attempt'],
  ['allowed', 'policy', 'policy_denied: box.write', 'policy denied no such call in this attempt'],
  ['allowed', 'policy', 'policy_denied: box.read', 'policy denied no such call in this attempt'],
  ['allowed', 'policy', 'exit_code', 'policy denied no such call in this attempt'],
] as const;

test.each(FORGERIES)(
  'the failure of %s forged to %s (%s) is found in the store and in a bundle',
  async (of, fault, code, what) => {
    const named = ({ found }: { found: readonly Difference[] }) =>
      found.filter(({ where }) => where === 'attempt').map((difference) => [difference.row, difference.what]);
    const expected = [[`case ${of} #1 attempt 1`, what]];

    await copyFile(file('kept.db'), file('.proctor/proctor.db'));
    dropTriggers(file('.proctor/proctor.db'));
    {
      using db = new DatabaseSync(file('.proctor/proctor.db'));
      blame(db, of, [fault, code]);
    }
    const inStore = await withApp(async (app) => await verifyRun(app, await findRun(app.store, run.run_id), null));
    expect(named(inStore)).toEqual(expected);
    expect(inStore.found).toHaveLength(1); // every hash is right

    await alterBundle(file(BUNDLE), file('forged.proctor'), (db) => blame(db, of, [fault, code], IN_BUNDLES));
    expect(named(await verifyBundleFile(file('forged.proctor'), null, null))).toEqual(expected);
  },
);

test('untouched both verify; regrade keeps whose fault it was, and its run verifies, and so does its bundle', async () => {
  await copyFile(file('kept.db'), file('.proctor/proctor.db'));
  expect((await verifyBundleFile(file(BUNDLE), null, null)).ok).toBe(true);
  const faultsOf = async (which: string) =>
    Object.fromEntries(
      (await project.json<ExecutionDocument>(['show', which, '--executions'])).documents.map((one) => [
        one.case_id,
        [one.status, one.fault, one.reason, one.aggregate?.passed, one.aggregate?.score],
      ]),
    );
  const before = await faultsOf('last');
  expect(before).toMatchObject({
    denied: ['failed', 'policy', 'policy_denied: box.write', false, 0],
    allowed: ['failed', 'agent', 'exit_code', false, 0],
  });
  const calls = await readFile(file('done.log'), 'utf8');
  const regraded = await project.json<RunDocument>(['regrade', run.run_id, '--quiet']);
  expect([regraded.code, regraded.documents[0]]).toMatchObject([
    1,
    { faults: { policy: 1, agent: 1, infrastructure: 0 }, graded: 3, passed: 1, regrade_of: run.run_id },
  ]);
  expect(await faultsOf('last')).toEqual(before);
  expect(await readFile(file('done.log'), 'utf8')).toBe(calls); // nobody was asked
  const again = await project.json<RunDocument>(['regrade', 'last', '--quiet']);
  expect(again.documents[0]).toMatchObject({ faults: { policy: 1, agent: 1 } });
  expect(await faultsOf('last')).toEqual(before);
  expect((await proctor(project.path, ['verify', 'last'])).code).toBe(0);
  await proctor(project.path, ['export', 'last', '--format', 'bundle', '--out', 'regraded.proctor']);
  expect((await verifyBundleFile(file('regraded.proctor'), null, null)).ok).toBe(true);
});
