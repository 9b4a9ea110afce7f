import type { Envelope } from '../contract/agent.ts';
import type { ArtifactStore } from '../contract/artifact.ts';
import type { ExecutionDocument } from '../contract/documents.ts';
import type { EvaluatorResult } from '../contract/evaluator.ts';
import type { AttemptDocument } from '../contract/execution-document.ts';
import type { PlannedCase, Snapshot } from '../contract/snapshot.ts';
import type {
  AttemptRow,
  CorrectionRow,
  EvidenceRecord,
  ExecutionRow,
  RunReaders,
  SessionWorker,
  ToolRunRow,
} from '../contract/store.ts';
import type { ToolOutput } from '../contract/tool.ts';
import type { ToolRunDocument } from '../contract/tool-documents.ts';
import type { Aggregate } from '../core/aggregate.ts';
import { instant } from '../core/instant.ts';
import { toolRunDocument } from '../core/tool-run-document.ts';
import { attemptId, executionId } from '../lib/id.ts';
import { allExecutions } from './all-executions.ts';
import { bodyOf, type EnvelopeBody, type ResultBody } from './evidence-rows.ts';
import { executionsNotPassed } from './not-passed.ts';
import { PlanCases, readSnapshot } from './run-context.ts';
import type { RunView } from './run-view.ts';

/** Which executions of a run to describe: all, those that did not pass, or those of one case (one of its repeats). */
export type ExecutionFilter =
  | { readonly type: 'all' }
  | { readonly type: 'not_passed' }
  | { readonly type: 'case'; readonly case_id: string; readonly repeat: number | null };

type Readers = { readonly store: RunReaders; readonly artifacts: ArtifactStore };

const AT_ONCE = 100; // executions whose rows are held together

/** The documents about executions of a run, streamed; all of them come in (case_id, repeat) order, those not passed in plan order. */
export async function* describeExecutions(
  deps: Readers,
  view: RunView,
  filter: ExecutionFilter = { type: 'all' },
): AsyncGenerator<ExecutionDocument> {
  const describer = new Describer(deps, view, await readSnapshot(deps.store, view.run));
  for await (const page of pages(deps.store, view, filter))
    for (let from = 0; from < page.length; from += AT_ONCE) yield* describer.describe(page.slice(from, from + AT_ONCE));
}

async function* pages(store: RunReaders, view: RunView, filter: ExecutionFilter): AsyncGenerator<ExecutionRow[]> {
  const { run_id, repeats } = view.run;
  if (filter.type === 'not_passed') yield* executionsNotPassed(store, view, AT_ONCE);
  else if (filter.type === 'all') yield* allExecutions(store, run_id);
  else {
    const { case_id, repeat } = filter;
    const rows = await store.executions(run_id, { after: { case_id, repeat: 0 }, limit: repeats });
    yield rows.filter((row) => row.case_id === case_id && (repeat === null || row.repeat === repeat));
  }
}

/** What is stored of some executions, by ordinal. */
interface Rows {
  readonly cases: ReadonlyMap<number, PlannedCase>;
  readonly evidence: ReadonlyMap<number, readonly EvidenceRecord[]>;
  readonly attempts: ReadonlyMap<number, readonly AttemptRow[]>;
  readonly toolRuns: ReadonlyMap<number | null, readonly ToolRunRow[]>;
}

/** What came of one attempt. */
interface Came {
  readonly envelope: Envelope | null;
  readonly latency_ms: number | null;
  readonly failure: ExecutionDocument['failure'];
  readonly results: readonly EvaluatorResult[];
  readonly kept: boolean;
  readonly redacted: readonly string[];
}

class Describer {
  readonly #deps: Readers;
  readonly #view: RunView;
  readonly #snapshot: Snapshot;
  readonly #cases: PlanCases;
  readonly #corrections: ReadonlyMap<number, readonly CorrectionRow[]>;
  readonly #workers = new Map<string, SessionWorker>();
  readonly #gated: boolean;

  constructor(deps: Readers, view: RunView, snapshot: Snapshot) {
    this.#deps = deps;
    this.#view = view;
    this.#snapshot = snapshot;
    this.#cases = new PlanCases(deps.artifacts, view.run.plan_digest, view.run.repeats);
    this.#corrections = Map.groupBy(view.corrections, (row) => row.ordinal);
    this.#gated = snapshot.gateway !== undefined;
  }

  async *describe(page: readonly ExecutionRow[]): AsyncGenerator<ExecutionDocument> {
    const rows = await this.#read(page.map((row) => row.ordinal));
    for (const row of page) yield withCorrections(await this.#one(row, rows), this.#corrections.get(row.ordinal) ?? []);
  }

  async #read(ordinals: readonly number[]): Promise<Rows> {
    const { store } = this.#deps;
    const { run_id } = this.#view.run;
    const cases = new Map<number, PlannedCase>();
    for (const ordinal of ordinals.toSorted((one, other) => one - other)) // so a chunk of the plan is read once
      cases.set(ordinal, (await this.#cases.at(ordinal)).case);
    const attempts = await store.attempts(run_id, ordinals);
    const unknown = new Set(attempts.map(({ session_id }) => session_id).filter((id) => !this.#workers.has(id)));
    if (unknown.size > 0)
      for (const worker of await store.workers([...unknown])) this.#workers.set(worker.session_id, worker);
    return {
      cases,
      attempts: Map.groupBy(attempts, (row) => row.ordinal),
      evidence: Map.groupBy(await store.evidence(run_id, ordinals), (row) => row.ordinal),
      toolRuns: Map.groupBy(this.#gated ? await store.toolRunsAt(run_id, ordinals) : [], (row) => row.ordinal),
    };
  }

  async #one(row: ExecutionRow, rows: Rows): Promise<ExecutionDocument> {
    const { run, revision } = this.#view;
    const all = rows.attempts.get(row.ordinal) ?? [];
    const evidence = Map.groupBy(rows.evidence.get(row.ordinal) ?? [], (record) => record.attempt);
    const came = await this.#came(evidence.get(row.attempt) ?? []);
    const attempts: AttemptDocument[] = [];
    for (const attempt of all) {
      const decides = attempt.attempt === row.attempt && row.hash !== null;
      attempts.push(
        this.#attempt(attempt, decides, decides ? came : await this.#came(evidence.get(attempt.attempt) ?? [])),
      );
    }
    const tool_runs: ToolRunDocument[] = [];
    for (const call of rows.toolRuns.get(row.ordinal) ?? []) tool_runs.push(await this.#toolRun(call));
    const { envelope } = came;
    return {
      run_id: run.run_id,
      execution_id: executionId(run.run_id, row.ordinal),
      case_id: row.case_id,
      repeat: row.repeat,
      revision,
      status: row.status,
      fault: row.fault,
      reason: row.status === 'completed' ? null : (all.at(-1)?.reason ?? null),
      aggregate: row.aggregate === null ? null : (JSON.parse(row.aggregate) as ExecutionDocument['aggregate']),
      beyond_stop: run.stop_after !== null && row.ordinal >= run.stop_after,
      case: this.#case(rows.cases.get(row.ordinal) as PlannedCase),
      output: outputOf(came),
      tool_calls: envelope?.tool_calls ?? [],
      tool_runs,
      trace: envelope?.trace ?? [],
      usage: envelope?.usage ?? null,
      turns: envelope?.turns ?? null,
      latency_ms: came.latency_ms,
      evaluator_results: [...came.results],
      corrected: null,
      failure: came.failure,
      attempts,
      not_kept: this.#notKept(came),
      redacted: [...came.redacted],
    };
  }

  #case({ task_type, group, input, expected, context, tags, metadata, cluster }: PlannedCase) {
    const case_group = this.#snapshot.profile.case_groups[group]?.id ?? '';
    return { task_type, case_group, input, expected, context, tags, metadata, cluster } as ExecutionDocument['case'];
  }

  #attempt(row: AttemptRow, decides: boolean, came: Came): AttemptDocument {
    const { session_id, started_at, ended_at } = row;
    const worker = this.#workers.get(session_id);
    return {
      attempt_id: attemptId(this.#view.run.run_id, row.ordinal, row.attempt),
      attempt: row.attempt,
      status: row.status,
      fault: row.fault,
      reason: row.reason,
      decides,
      worker: { session_id, name: worker?.worker ?? '', host: worker?.host ?? '', pid: worker?.pid ?? 0 },
      started_at: instant(started_at),
      ended_at: ended_at === null ? null : instant(ended_at),
      duration_ms: ended_at === null ? null : ended_at - started_at,
      failure: came.failure,
      output: decides ? null : outputOf(came),
      evaluator_results: decides ? [] : [...came.results],
    };
  }

  /** A tool run with the whole of its output, not only what its caller got. */
  async #toolRun(row: ToolRunRow): Promise<ToolRunDocument> {
    const { output, output_artifact, output_bytes } = row;
    const text =
      output ??
      (output_artifact === null ? null : (await this.#deps.artifacts.get(output_artifact, output_bytes)).toString());
    return toolRunDocument(row, text === null ? null : (JSON.parse(text) as ToolOutput));
  }

  async #came(evidence: readonly EvidenceRecord[]): Promise<Came> {
    let answer: EnvelopeBody | null = null;
    let failure: ExecutionDocument['failure'] = null;
    const results: EvaluatorResult[] = [];
    for (const record of evidence) {
      const body = JSON.parse(await bodyOf(this.#deps.artifacts, record)) as unknown;
      if (record.kind === 'envelope') answer = body as EnvelopeBody;
      else if (record.kind === 'failure') failure = body as ExecutionDocument['failure'];
      else {
        const { duration_ms: _duration, reused: _reused, ...result } = body as ResultBody;
        results.push(result);
      }
    }
    const kept = answer === null || answer.envelope !== null;
    const { envelope = null, latency_ms = null, redacted = [] } = answer ?? {};
    return { envelope, latency_ms, failure, results, kept, redacted };
  }

  #notKept({ envelope, kept, results }: Came): ExecutionDocument['not_kept'] {
    const { mode, persist_evaluator_evidence } = this.#snapshot.profile.persistence;
    const summary = mode === 'summary';
    return [
      ...(kept ? [] : (['output'] as const)),
      ...(summary && envelope !== null ? (['raw', 'trace'] as const) : []),
      ...((summary || !persist_evaluator_evidence) && results.length > 0 ? (['evaluator_evidence'] as const) : []),
    ];
  }
}

function outputOf({ envelope }: Came): ExecutionDocument['output'] {
  if (envelope === null) return null;
  const { text, structured, raw, metadata } = envelope;
  return { text, structured, raw, metadata };
}

/** The execution by the corrections of its grades: people's results in place of the evaluators', and the aggregate with them. */
function withCorrections(document: ExecutionDocument, rows: readonly CorrectionRow[]): ExecutionDocument {
  const last = rows.at(-1);
  if (last === undefined) return document;
  const evaluator_results = [...document.evaluator_results];
  const own = new Map<number, Pick<EvaluatorResult, 'index' | 'status' | 'score' | 'reason'>>();
  for (const row of rows) {
    const result = JSON.parse(row.result) as EvaluatorResult;
    const before = document.evaluator_results[result.index];
    if (before !== undefined) {
      const { index, status, score, reason } = before;
      own.set(index, { index, status, score, reason });
    }
    evaluator_results[result.index] = result as ExecutionDocument['evaluator_results'][number];
  }
  const { passed = false, score = 0 } = document.aggregate ?? {};
  const aggregate = JSON.parse(last.aggregate) as Aggregate as ExecutionDocument['aggregate'];
  const corrected = { corrected_by: last.principal, own: { passed, score, results: [...own.values()] } };
  return { ...document, aggregate, evaluator_results, corrected };
}
