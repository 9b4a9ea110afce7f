import type { AgentFailure, Envelope } from '../contract/agent.ts';
import type { ArtifactStore } from '../contract/artifact.ts';
import type { EvaluatorResult } from '../contract/evaluator.ts';
import type { Profile } from '../contract/profile.ts';
import type { Redaction } from '../contract/redaction.ts';
import type { EvidenceRow } from '../contract/store.ts';
import { envelopeContent } from '../core/evidence.ts';
import { type HiddenEnvelope, hiddenEnvelope, hiddenFailure } from '../core/redaction/hidden.ts';
import { canonicalJson } from '../lib/canonical-json.ts';

/** What the body of an `envelope` row says. Without the envelope, `content` is its content digest and nothing can be recomputed. */
export interface EnvelopeBody {
  readonly envelope: Envelope | null;
  readonly content: string | null;
  readonly latency_ms: number;
  readonly reused: boolean;
  /** The members of the envelope that a secret was taken out of: not what the evaluators graded. Absent where it is. */
  readonly redacted?: readonly string[];
}

/** What the body of an `evaluator_result` row says. */
export interface ResultBody extends EvaluatorResult {
  readonly duration_ms: number;
  readonly reused: boolean;
}

const INLINE_BYTES = 16_384; // a larger body becomes an artifact, written before its row

/** Makes evidence rows by the profile's persistence policy, large bodies as artifacts. */
export class EvidenceWriter {
  readonly #artifacts: ArtifactStore;
  readonly #policy: Profile['persistence'];
  #redaction: Redaction;

  constructor(artifacts: ArtifactStore, policy: Profile['persistence'], redaction: Redaction) {
    this.#artifacts = artifacts;
    this.#policy = policy;
    this.#redaction = redaction;
  }

  /** Takes secrets out of what becomes evidence. */
  get redaction(): Redaction {
    return this.#redaction;
  }

  /** Takes one more value out of all that follows. */
  hide(value: string, marker: string): void {
    this.#redaction = this.#redaction.with(value, marker);
  }

  /** The envelope as it may be kept. */
  hidden(envelope: Envelope): HiddenEnvelope {
    return hiddenEnvelope(envelope, this.#redaction);
  }

  /** True when the policy keeps the envelope of an execution that passed or not. */
  keepsEnvelope(passed: boolean): boolean {
    const { persist_raw_outputs } = this.#policy;
    return persist_raw_outputs === 'all' || (persist_raw_outputs === 'failures_only' && !passed);
  }

  async envelope(hidden: HiddenEnvelope, latency_ms: number, reused: boolean): Promise<EvidenceRow> {
    const { envelope } = hidden;
    if (this.#policy.persist_raw_outputs === 'none') return this.withoutEnvelope(envelope, latency_ms);
    const summary = this.#policy.mode === 'summary';
    const kept = summary ? { ...envelope, raw: null, trace: [] } : envelope;
    const redacted = hidden.redacted.filter((member) => !(summary && (member === 'raw' || member === 'trace')));
    const marked = redacted.length === 0 ? {} : { redacted };
    return await this.#row('envelope', { content: null, envelope: kept, latency_ms, reused, ...marked });
  }

  /** The row of an envelope that the policy leaves out: its content digest stands for it. */
  withoutEnvelope(envelope: Envelope, latency_ms: number): EvidenceRow {
    return {
      kind: 'envelope',
      body: canonicalJson({ content: envelopeContent(envelope), envelope: null, latency_ms, reused: false }),
      artifact: null,
    };
  }

  async result(result: EvaluatorResult, duration_ms: number, reused: boolean): Promise<EvidenceRow> {
    const { blocking, dimension, evidence, index, reason, ref, score, severity, status, weight } = this.kept(result);
    const body: ResultBody = {
      blocking,
      dimension,
      duration_ms,
      evidence,
      index,
      reason,
      ref,
      reused,
      score,
      severity,
      status,
      weight,
    };
    return await this.#row('evaluator_result', body);
  }

  /** The result as it is kept: what the verdict is computed from is what stands in the evidence. */
  kept(result: EvaluatorResult): EvaluatorResult {
    const { persist_evaluator_evidence, mode } = this.#policy;
    return persist_evaluator_evidence && mode === 'full' ? result : { ...result, evidence: null };
  }

  failure(failure: AgentFailure): EvidenceRow {
    const { fault, code, message, timed_out, retry_after_ms, evidence } = hiddenFailure(failure, this.#redaction);
    return {
      kind: 'failure',
      body: canonicalJson({ fault, code, message, timed_out, retry_after_ms, evidence }),
      artifact: null,
    };
  }

  async #row(kind: EvidenceRow['kind'], value: unknown): Promise<EvidenceRow> {
    const body = canonicalJson(value);
    if (body.length <= INLINE_BYTES) return { kind, body, artifact: null };
    return {
      kind,
      body: kind === 'evaluator_result' ? columnsOf(value as ResultBody) : '',
      artifact: await this.#artifacts.put(body),
    };
  }
}

const INLINE_REASON = 1_000; // characters

/** What stands in the row of a result whose body is an artifact: enough to count and to look for. */
function columnsOf({ blocking, dimension, index, reason, ref, score, severity, status, weight }: ResultBody): string {
  const short = reason === null || reason.length <= INLINE_REASON ? { reason } : {};
  return canonicalJson({ blocking, dimension, index, ref, score, severity, status, weight, ...short });
}

/** The text of an evidence row's body, from the row or its artifact (verified on read). */
export async function bodyOf(artifacts: ArtifactStore, row: EvidenceRow): Promise<string> {
  return row.artifact === null ? row.body : (await artifacts.get(row.artifact)).toString();
}

/** An answer that is there already, with the results that were made of it. */
export interface KeptAnswer {
  readonly envelope: Envelope;
  /** The members of the envelope that a secret was taken out of; it can be graded where there are none. */
  readonly redacted: readonly string[];
  readonly latency_ms: number;
  readonly results: readonly EvaluatorResult[];
}

/** The envelope and results that an earlier attempt left, or null when the agent must be asked. */
export async function readKept(artifacts: ArtifactStore, rows: readonly EvidenceRow[]): Promise<KeptAnswer | null> {
  if (rows.length === 0) return null;
  const results: EvaluatorResult[] = [];
  let kept: EnvelopeBody | null = null;
  for (const row of rows) {
    const body = JSON.parse(await bodyOf(artifacts, row)) as unknown;
    if (row.kind === 'envelope') kept = body as EnvelopeBody;
    if (row.kind === 'evaluator_result') {
      const { duration_ms: _duration, reused: _reused, ...result } = body as ResultBody;
      results.push(result);
    }
  }
  if (!kept?.envelope) return null;
  return { envelope: kept.envelope, redacted: kept.redacted ?? [], latency_ms: kept.latency_ms, results };
}
