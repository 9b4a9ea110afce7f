import { parse as parseCsv } from 'csv-parse/sync';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ExecutionDocument, RunDocument } from '../../src/contract/documents.ts';
import { temporaryFolder } from '../support/cli.ts';
import { examine } from '../support/examined.ts';
import { proctorHere } from '../support/in-process.ts';

/** What a command or an export says of the run; what it does not say is left out. */
interface Told {
  readonly gate?: string | undefined;
  readonly passed?: number | undefined;
  readonly failing?: readonly string[];
  readonly revision?: number | undefined;
}

// By revision: the run's own verdict, a failed case corrected to passed, a passed case corrected to failed.
const TRUTH = [
  { gate: 'fail', passed: 6, failing: ['c0002', 'c0003'], revision: 0 },
  { gate: 'pass', passed: 7, failing: ['c0003'], revision: 1 },
  { gate: 'fail', passed: 6, failing: ['c0001', 'c0003'], revision: 2 },
] as const;
const CORRECTIONS = [
  ['c0002', '--status', 'passed'],
  ['c0001', '--status', 'failed'],
];

const documents = (text: string) =>
  text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as ExecutionDocument);
const failingOf = (executions: readonly ExecutionDocument[]) =>
  executions.filter(({ aggregate }) => aggregate?.passed !== true).map(({ case_id }) => case_id);
const revisionIn = (text: string) => Number(/revision (\d+)(?: of \d+)? by human/.exec(text)?.[1] ?? 0);
const listed = (text: string, pattern: RegExp) =>
  [...new Set([...text.matchAll(pattern)].map(([, id = '']) => id))].sort();

const READERS: readonly { name: string; argv: readonly string[]; read: (text: string) => Told }[] = [
  {
    name: 'show',
    argv: ['show', 'last'],
    read: (text) => ({
      gate: /^ (\w+) /.exec(text)?.[1]?.toLowerCase(),
      passed: Number(/pass rate +\S+ % (\d+)\/8/.exec(text)?.[1]),
      failing: listed(text, /✗ (c\d+)/g),
      revision: revisionIn(text),
    }),
  },
  {
    name: 'show --json',
    argv: ['show', 'last', '--json'],
    read: (text) => {
      const run = JSON.parse(text) as RunDocument;
      expect(run.revision?.own.gate_status ?? 'fail').toBe('fail');
      expect(run.pass_rate).toBe(run.passed / 8);
      return { gate: run.gate_status, passed: run.passed, revision: run.revision?.number ?? 0 };
    },
  },
  {
    name: 'show --verdict',
    argv: ['show', 'last', '--verdict'],
    read: (text) => {
      const {
        gate_status,
        passed,
        revision = 0,
      } = JSON.parse(text) as { gate_status: string; passed: number; revision?: number };
      return { gate: gate_status, passed, revision };
    },
  },
  {
    name: 'show --executions',
    argv: ['show', 'last', '--executions', '--json'],
    read: (text) => {
      const all = documents(text);
      const failing = failingOf(all);
      for (const { aggregate, evaluator_results } of all)
        expect(evaluator_results[0]?.status === 'passed').toBe(aggregate?.passed);
      return { passed: all.length - failing.length, failing, revision: all[0]?.revision };
    },
  },
  {
    name: 'show --executions --failed',
    argv: ['show', 'last', '--executions', '--failed', '--json'],
    read: (text) => {
      const all = documents(text);
      expect(failingOf(all)).toHaveLength(all.length);
      return { failing: failingOf(all), revision: all[0]?.revision };
    },
  },
  {
    name: 'show --case',
    argv: ['show', 'last', '--case', 'c0002', '--json'],
    read: (text) => {
      const [item] = documents(text);
      const corrected = (item?.revision ?? 0) > 0;
      expect(item?.aggregate?.passed).toBe(corrected);
      expect(item?.corrected).toEqual(
        corrected
          ? {
              corrected_by: expect.stringMatching(/^human:/),
              own: { passed: false, score: 0, results: [expect.objectContaining({ index: 0, status: 'failed' })] },
            }
          : null,
      );
      return { revision: item?.revision };
    },
  },
  {
    name: 'junit',
    argv: ['export', 'last', '--format', 'junit'],
    read: (text) => ({
      gate: /name="gate_status" value="(\w+)"/.exec(text)?.[1],
      passed: 8 - (text.match(/<failure/g)?.length ?? 0) + (/name="gate_status" value="fail"/.test(text) ? 1 : 0),
      failing: listed(text, /name="(c\d+)"[^>]*><failure/g),
      revision: revisionIn(text),
    }),
  },
  {
    name: 'csv',
    argv: ['export', 'last', '--format', 'csv'],
    read: (text) => {
      const rows = parseCsv(text, { columns: true }) as Record<string, string>[];
      const failing = rows.filter((row) => row['passed'] === 'false').map((row) => row['case_id'] ?? '');
      return { failing, passed: rows.length - failing.length, revision: Number(rows[0]?.['revision']) };
    },
  },
  {
    name: 'jsonl',
    argv: ['export', 'last', '--format', 'jsonl'],
    read: (text) => ({ failing: failingOf(documents(text)), revision: documents(text)[0]?.revision }),
  },
  {
    name: 'html',
    argv: ['export', 'last', '--format', 'html'],
    read: (text) => ({
      gate: /class="verdict (\w+)"/.exec(text)?.[1],
      passed: Number(/>passed<\/span><strong>(\d+)</.exec(text)?.[1]),
      failing: listed(text, /<span class="id">(c\d+)/g),
      revision: revisionIn(text),
    }),
  },
  {
    name: 'annotations',
    argv: ['export', 'last', '--format', 'annotations'],
    read: (text) => ({
      gate: /title=(\w+) known/.exec(text)?.[1]?.toLowerCase(),
      failing: listed(text, /not passed%3A (c\d+)/g),
      revision: revisionIn(text),
    }),
  },
];

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let at = '';
beforeAll(async () => {
  folder = await temporaryFolder();
  at = folder.path;
  await examine(at, { cases: 8, wrong: [2, 3], profile: { gate: { all: [{ metric: 'pass_rate', min: 0.8 }] } } });
});
afterAll(async () => await folder[Symbol.asyncDispose]());

async function told(argv: readonly string[], read: (text: string) => Told): Promise<Told> {
  const done = await proctorHere(at, argv);
  expect(done, `${argv.join(' ')}: ${done.stderr}${done.stdout}`).toMatchObject({ code: 0 });
  return read(done.stdout);
}

test('every command and format tells the last revision, before, after one and after two corrections', async () => {
  for (const truth of TRUTH) {
    for (const { name, argv, read } of READERS) expect(truth, name).toMatchObject(await told(argv, read));
    const [line] = documents((await proctorHere(at, ['runs', '--json'])).stdout);
    expect(line).toMatchObject({ gate_status: truth.gate, passed: truth.passed });
    expect((await proctorHere(at, ['runs'])).stdout).toContain(
      truth.revision === 0 ? 'fail' : `(revision ${truth.revision})`,
    );
    expect((await proctorHere(at, ['show', 'last', '--gate'])).code).toBe(truth.gate === 'pass' ? 0 : 1);
    const blessed = JSON.parse((await proctorHere(at, ['bless', 'last', '--json'])).stdout) as object;
    expect(blessed).toMatchObject({ gate_status: truth.gate, revision: truth.revision });
    const next = CORRECTIONS[truth.revision];
    if (next === undefined) continue;
    const done = await proctorHere(at, ['correct', 'last', ...next, '--reason', 'because', '--json']);
    expect(JSON.parse(done.stdout)).toMatchObject({ revision: truth.revision + 1, gate_status_before: truth.gate });
  }
});

test('every command and format tells an earlier revision with --revision, and says which it is', async () => {
  for (const truth of TRUTH)
    for (const { name, argv, read } of READERS)
      expect(truth, name).toMatchObject(await told([...argv, '--revision', String(truth.revision)], read));
  expect((await proctorHere(at, ['show', 'last', '--gate', '--revision', '1'])).code).toBe(0);
  expect((await proctorHere(at, ['show', 'last', '--revision', '1'])).stdout).toContain('revision 1 of 2 by human');
  expect((await proctorHere(at, ['show', 'last', '--revision', '0'])).stdout).toContain('revision 2 is the last');
  const beyond = await proctorHere(at, ['show', 'last', '--revision', '3']);
  expect(beyond).toMatchObject({ code: 2, stderr: expect.stringContaining('0 (its own verdict) to 2') });
  expect(
    await proctorHere(at, ['export', 'last', '--format', 'bundle', '--out', 'x', '--revision', '1']),
  ).toMatchObject({ code: 2 });
});

test('compare goes by the last revisions, or by those named', async () => {
  const compared = async (...more: string[]) =>
    JSON.parse((await proctorHere(at, ['compare', 'last', 'last', '--json', ...more])).stdout) as {
      improved: number;
      regressed: number;
      baseline: { revision: number; content_digest: string };
      candidate: { revision: number; content_digest: string };
    };
  expect(await compared()).toMatchObject({
    improved: 0,
    regressed: 0,
    baseline: { revision: 2 },
    candidate: { revision: 2 },
  });
  const across = await compared('--baseline-revision', '0');
  expect(across).toMatchObject({ improved: 1, regressed: 1, baseline: { revision: 0 }, candidate: { revision: 2 } });
  expect(across.baseline.content_digest).not.toBe(across.candidate.content_digest);
  expect(await compared('--baseline-revision', '1', '--candidate-revision', '0')).toMatchObject({
    improved: 0,
    regressed: 1,
  });
  expect((await proctorHere(at, ['compare', 'last', 'last'])).stdout).toContain('revision 2');
});

test('--failed-of takes the cases that fail by the last revision', async () => {
  const plan = await proctorHere(at, ['run', 'profile.json', '--failed-of', 'last', '--plan', '--json']);
  expect(JSON.parse(plan.stdout), plan.stderr).toMatchObject({ cases: 2 });
  const first = await proctorHere(at, ['run', 'profile.json', '--failed-of', 'last', '--case', 'c0001', '--plan']);
  expect(first, first.stderr).toMatchObject({ code: 0 });
  const fine = await proctorHere(at, ['run', 'profile.json', '--failed-of', 'last', '--case', 'c0002', '--plan']);
  expect(fine).toMatchObject({ code: 2, stderr: expect.stringContaining('failed in that run') });
});
