import type { ArtifactStore } from '../../contract/artifact.ts';
import type { EvaluatorResult } from '../../contract/evaluator.ts';
import type { EvidenceRecord } from '../../contract/store.ts';
import { bodyOf, type EnvelopeBody, type ResultBody } from '../evidence-rows.ts';
import type { Differences } from './differences.ts';

/** What the evidence of one attempt says. */
export interface Bodies {
  readonly envelope: EnvelopeBody | null;
  readonly results: readonly EvaluatorResult[];
  readonly failure: { readonly fault: unknown; readonly code: unknown } | null;
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
        const parsed = parse(record, await bodyOf(artifacts, record));
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
  for (const [column, value] of Object.entries(JSON.parse(body) as object))
    differences.same('evidence', at, `${column} beside its artifact`, (read.body as never)[column], value);
}

type Body =
  | { readonly kind: 'envelope'; readonly body: EnvelopeBody }
  | { readonly kind: 'evaluator_result'; readonly body: ResultBody }
  | { readonly kind: 'failure'; readonly body: { readonly fault: unknown; readonly code: unknown } };

function parse({ kind }: EvidenceRecord, text: string): Body {
  const body: unknown = JSON.parse(text);
  if (typeof body !== 'object' || body === null) throw new TypeError('the body is not a JSON object');
  return { kind, body } as Body; // what its hash does not vouch for is named by the chain
}

function gather(read: readonly Body[]): Bodies {
  const results = read.flatMap((item) => (item.kind === 'evaluator_result' ? [withoutProvenance(item.body)] : []));
  const envelope = read.findLast((item) => item.kind === 'envelope')?.body ?? null;
  const failure = read.findLast((item) => item.kind === 'failure')?.body ?? null;
  return { envelope, results, failure };
}

function withoutProvenance({ duration_ms: _duration, reused: _reused, ...result }: ResultBody): EvaluatorResult {
  return result;
}
