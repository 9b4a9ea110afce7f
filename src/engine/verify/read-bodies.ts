import type { ArtifactStore } from '../../contract/artifact.ts';
import type { EvaluatorResult } from '../../contract/evaluator.ts';
import type { EvidenceRecord } from '../../contract/store.ts';
import { envelopeContent } from '../../core/evidence.ts';
import { envelopeContentAt } from '../../core/large-content.ts';
import { membersAt } from '../../lib/canonical-bytes.ts';
import type { EnvelopeBody, ResultBody } from '../evidence-rows.ts';
import { type RawBody, rawBodyOf, smallMembers } from '../large-bodies.ts';
import type { Differences } from './differences.ts';

/** What the evidence of one attempt says. */
export interface Bodies {
  readonly envelope: ReadEnvelope | null;
  readonly results: readonly ReadResult[];
  readonly failure: { readonly fault: unknown; readonly code: unknown } | null;
}

/** What is held of an envelope's body: an answer may be too large to be held with others. */
export interface ReadEnvelope {
  /** False where persistence left the envelope out. */
  readonly kept: boolean;
  readonly redacted: unknown;
  /** The digest of its content; as recorded where it was left out. */
  content(): string | null;
}

/** An evaluator's result; a large one without its evidence, and with a way to read its bytes again. */
export interface ReadResult {
  readonly result: EvaluatorResult;
  readonly bytes: (() => Promise<Buffer>) | null;
}

/** Reads the bodies of an execution's evidence by attempt, artifacts verified; an attempt whose body cannot be read is named and left out. */
export async function readBodies(
  artifacts: ArtifactStore,
  evidence: readonly EvidenceRecord[],
  name: string,
  differences: Differences,
): Promise<Map<number, Bodies>> {
  const bodies = new Map<number, Bodies>();
  for (const [attempt, records] of Map.groupBy(evidence, (record) => record.attempt)) {
    const read: Body[] = [];
    for (const record of records) {
      const where = record.artifact === null ? 'evidence' : 'artifact';
      const at = `${name} attempt ${attempt} seq ${record.seq}`;
      const body = await differences.step(where, at, async () => {
        const parsed = await bodyOf(artifacts, record);
        checkInline(record, parsed, at, differences);
        return parsed;
      });
      if (body !== null) read.push(body);
    }
    if (read.length === records.length) bodies.set(attempt, gather(read));
  }
  return bodies;
}

/** The columns that stand in the row beside an artifact are what the artifact says. */
function checkInline({ artifact, body }: EvidenceRecord, read: Body, at: string, differences: Differences): void {
  if (artifact === null || body === '') return;
  const said = read.kind === 'evaluator_result' ? read.body.result : read.said;
  for (const [column, value] of Object.entries(JSON.parse(body) as object))
    differences.same('evidence', at, `${column} beside its artifact`, (said as never)[column], value);
}

type Body =
  | { readonly kind: 'envelope'; readonly body: ReadEnvelope; readonly said: object }
  | { readonly kind: 'evaluator_result'; readonly body: ReadResult }
  | { readonly kind: 'failure'; readonly body: NonNullable<Bodies['failure']>; readonly said: object };

async function bodyOf(artifacts: ArtifactStore, record: EvidenceRecord): Promise<Body> {
  const raw = await rawBodyOf(artifacts, record);
  return raw.type === 'text' ? parsed(record, raw.text) : cutOut(artifacts, record, raw);
}

function parsed({ kind }: EvidenceRecord, text: string): Body {
  const said: unknown = JSON.parse(text);
  if (typeof said !== 'object' || said === null) throw new TypeError('the body is not a JSON object');
  // What the hash of the row does not vouch for is named by the chain.
  if (kind === 'evaluator_result') {
    const { duration_ms: _duration, reused: _reused, ...result } = said as ResultBody;
    return { kind, body: { result, bytes: null } };
  }
  if (kind === 'failure') return { kind, body: said as NonNullable<Bodies['failure']>, said };
  const { envelope, content: recorded, redacted } = said as EnvelopeBody;
  const content = () => (envelope === null ? recorded : envelopeContent(envelope));
  return { kind, body: { kept: envelope !== null, redacted, content }, said };
}

const SMALL = new Set(
  'blocking dimension index reason ref score severity status weight evidence redacted content fault code'.split(' '),
);

/** What is needed of a large body: its small members, and the digest of its envelope. */
function cutOut(
  artifacts: ArtifactStore,
  record: EvidenceRecord,
  { bytes }: Extract<RawBody, { type: 'bytes' }>,
): Body {
  const said = smallMembers(bytes, SMALL);
  const { kind } = record;
  if (kind === 'evaluator_result') {
    const result = said as unknown as EvaluatorResult;
    const again = async () => {
      const raw = await rawBodyOf(artifacts, record);
      return raw.type === 'bytes' ? raw.bytes : Buffer.from(raw.text);
    };
    return { kind, body: { result, bytes: again } };
  }
  if (kind === 'failure') return { kind, body: said as unknown as NonNullable<Bodies['failure']>, said };
  const envelope = [...membersAt(bytes, 0)].find(({ key }) => key === 'envelope');
  if (envelope === undefined || bytes[envelope.value] !== 0x7b)
    throw new TypeError('the body holds no envelope, and is too large to be without one');
  const content = envelopeContentAt(bytes, envelope.value);
  return { kind, body: { kept: true, redacted: said['redacted'], content: () => content }, said };
}

function gather(read: readonly Body[]): Bodies {
  const results = read.flatMap((item) => (item.kind === 'evaluator_result' ? [item.body] : []));
  const envelope = read.findLast((item) => item.kind === 'envelope')?.body ?? null;
  const failure = read.findLast((item) => item.kind === 'failure')?.body ?? null;
  return { envelope, results, failure };
}
