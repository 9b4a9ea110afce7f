import type { Envelope } from '../contract/agent.ts';
import type { EvaluatorResult } from '../contract/evaluator.ts';
import type { CorrectionRow } from '../contract/store.ts';
import { digest, digestText } from '../lib/canonical-json.ts';
import type { Aggregate } from './aggregate.ts';

/** The kinds of evidence rows. */
export const EVIDENCE_KINDS = ['envelope', 'evaluator_result', 'failure'] as const;
/** What one evidence row records. */
export type EvidenceKind = (typeof EVIDENCE_KINDS)[number];

/** One evidence row before it is chained. `body` is JSON text; a large body stands in an artifact and `body` names it. */
export interface EvidenceItem {
  readonly kind: EvidenceKind;
  readonly body: string;
  /** Digest of the artifact that holds the body, or null when it stands in the row. */
  readonly artifact: string | null;
}

/** An evidence row's place: the attempt it belongs to and its number in it, from 1. */
export interface EvidencePlace {
  readonly run_id: string;
  readonly ordinal: number;
  readonly attempt: number;
  readonly seq: number;
}

/** The hash of one evidence row: over the row before it in the same attempt ('' at the start), its place and its content. */
export function evidenceHash(previous: string, at: EvidencePlace, item: EvidenceItem): string {
  return digestText(
    'proctor/evidence/1',
    JSON.stringify([previous, at.run_id, at.ordinal, at.attempt, at.seq, item.kind, item.artifact, item.body]),
  );
}

/** Everything an attempt row says, as it is sealed at its end. */
export interface AttemptRecord {
  readonly run_id: string;
  readonly ordinal: number;
  readonly attempt: number;
  readonly session_id: string;
  readonly lease_id: string;
  readonly started_at: number;
  readonly ended_at: number;
  readonly status: string;
  readonly reason: string | null;
  readonly fault: string | null;
  readonly evidence_count: number;
}

/** The seal of an attempt: over the seal of the attempt before it, its evidence head and every column of its row. */
export function attemptSeal(previousSeal: string, evidenceHead: string, row: AttemptRecord): string {
  const fields = [
    previousSeal,
    evidenceHead,
    row.run_id,
    row.ordinal,
    row.attempt,
    row.session_id,
    row.lease_id,
    row.started_at,
    row.ended_at,
    row.status,
    row.reason,
    row.fault,
    row.evidence_count,
  ];
  return digestText('proctor/attempt/1', JSON.stringify(fields));
}

/** Everything a result row says: the end of an execution. */
export interface ResultRecord {
  readonly run_id: string;
  readonly ordinal: number;
  /** The attempt that decided, 0 when none was made (cancelled before its first). */
  readonly attempt: number;
  readonly status: string;
  readonly fault: string | null;
  /** The aggregate as canonical JSON, or null. */
  readonly aggregate: string | null;
  /** The content digest of this execution. */
  readonly content: string;
  readonly finished_at: number;
}

/** The hash of a result: over the seal of its last attempt and every column (`passed` follows from the aggregate); a leaf of the run's Merkle tree. */
export function resultHash(seal: string, row: ResultRecord): string {
  const fields = [
    seal,
    row.run_id,
    row.ordinal,
    row.attempt,
    row.status,
    row.fault,
    row.aggregate,
    row.content,
    row.finished_at,
  ];
  return digestText('proctor/result/1', JSON.stringify(fields));
}

/** Everything an event row says. */
export interface EventRecord {
  readonly run_id: string;
  readonly seq: number;
  readonly type: string;
  readonly at: number;
  readonly ordinal: number | null;
  readonly attempt: number | null;
  readonly body: string | null;
}

/** The hash of an event: over the event before it in its run and every column. */
export function eventHash(previous: string, row: EventRecord): string {
  return digestText(
    'proctor/event/1',
    JSON.stringify([previous, row.run_id, row.seq, row.type, row.at, row.ordinal, row.attempt, row.body]),
  );
}

/** Everything a late evidence row says: what a worker sent after its lease was taken. */
export interface LateRecord {
  readonly run_id: string;
  readonly late_seq: number;
  readonly ordinal: number;
  readonly attempt: number;
  readonly lease_id: string;
  readonly verb: string;
  readonly body: string;
  readonly received_at: number;
}

/** The hash of a late evidence row; the event that tells of it carries it. */
export function lateHash(row: LateRecord): string {
  const fields = [
    row.run_id,
    row.late_seq,
    row.ordinal,
    row.attempt,
    row.lease_id,
    row.verb,
    row.body,
    row.received_at,
  ];
  return digestText('proctor/late/1', JSON.stringify(fields));
}

/** The hash of a correction: over the one before it (the run's evidence root at first) and every column. */
export function correctionHash(
  previous: string,
  row: Omit<CorrectionRow, 'hash'> & { readonly run_id: string },
): string {
  const { run_id, revision, ordinal, result, aggregate, verdict, principal, corrected_at } = row;
  return digestText(
    'proctor/correction/1',
    JSON.stringify([previous, run_id, revision, ordinal, result, aggregate, verdict, principal, corrected_at]),
  );
}

/**
 * The root of a revision: over the run's evidence root and the chain of corrections up to it, of which `correction` is the last hash.
 * Noted elsewhere, it finds a rewrite of any of them; the run itself, revision 0, has its evidence root.
 */
export function revisionRoot(parts: { evidence_root: string; revision: number; correction: string }): string {
  const { evidence_root, revision, correction } = parts;
  return digest('proctor/revision-root/1', { evidence_root, revision, correction });
}

/** The roots of a run's verdicts, by revision: its evidence root first, then one for each correction, in order. */
export function revisionRoots(
  run: { readonly evidence_root: string | null },
  corrections: readonly Pick<CorrectionRow, 'revision' | 'hash'>[],
): string[] {
  const { evidence_root } = run;
  if (evidence_root === null) return [];
  const roots = corrections.map(({ revision, hash }) => revisionRoot({ evidence_root, revision, correction: hash }));
  return [evidence_root, ...roots];
}

/** Everything an entry of the store's journal says. */
export interface JournalRecord {
  readonly seq: number;
  readonly type: string;
  readonly at: number;
  readonly body: string;
}

/** The hash of an entry of the journal: over the entry before it and every column. */
export function journalHash(previous: string, { seq, type, at, body }: JournalRecord): string {
  return digestText('proctor/journal/1', JSON.stringify([previous, seq, type, at, body]));
}

/** What a verdict may depend on of one execution. */
export interface ExecutionContent {
  readonly status: string;
  readonly fault: string | null;
  /** The digest of the envelope's content; null when there was no answer. */
  readonly envelope: string | null;
  readonly evaluator_results: readonly EvaluatorResult[];
  readonly aggregate: Aggregate | null;
}

/**
 * The digest of an envelope's content: text, structured, tool calls and usage, of every turn too where it was a session. `raw`, `trace`
 * and `metadata` carry provider ids and timings (CONTRACTS: envelope without timing and ids), so two honest runs may differ there.
 */
export function envelopeContent(envelope: Envelope): string {
  const { text, structured, tool_calls, turns, usage } = envelope;
  const said = turns?.map((turn) => {
    const { latency_ms: _latency, ...rest } = turn;
    return rest;
  });
  return digest('proctor/envelope/1', { structured, text, tool_calls, turns: said, usage });
}

/** The content digest of one execution; ids, instants, workers, attempts and durations are provenance and stay out. */
export function executionContent(content: ExecutionContent): string {
  const results = content.evaluator_results.map(resultContent);
  const { aggregate, envelope, fault, status } = content;
  return digest('proctor/execution/1', { aggregate, envelope, evaluator_results: results, fault, status });
}

/** What a verdict may depend on of one result. */
export function resultContent(result: EvaluatorResult): EvaluatorResult {
  const { blocking, dimension, evidence, index, reason, ref, score, severity, status, weight } = result;
  return { blocking, dimension, evidence, index, reason, ref, score, severity, status, weight };
}

/** The evidence root of a run: what a verdict rests on, in one digest; `--expect ROOT` compares with it. */
export function evidenceRoot(parts: {
  snapshot_digest: string;
  merkle_root: string;
  event_head: string;
  finished_at: number;
}): string {
  const { snapshot_digest, merkle_root, event_head, finished_at } = parts; // just these, whatever else the caller's row holds
  return digest('proctor/root/1', { snapshot_digest, merkle_root, event_head, finished_at });
}

/** The content digest of an execution that was cancelled. */
export const CANCELLED_CONTENT = executionContent({
  status: 'cancelled',
  fault: 'cancelled',
  envelope: null,
  evaluator_results: [],
  aggregate: null,
});
