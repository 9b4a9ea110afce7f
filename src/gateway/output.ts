import { setImmediate } from 'node:timers/promises';
import type { ArtifactStore } from '../contract/artifact.ts';
import type { Redaction } from '../contract/redaction.ts';
import type { ToolRunRow } from '../contract/store.ts';
import type { ContentBlock, ToolOutput } from '../contract/tool.ts';
import { toolOutputDigest } from '../core/gateway.ts';
import { canonicalJson } from '../lib/canonical-json.ts';
import type { GatewayDeps } from './ports.ts';

/** A tool's output as it is kept: what the caller gets, and where the whole is. */
export interface KeptOutput {
  /** Canonical JSON of what the caller gets; null when it is too large for a row and stands in the artifact. */
  readonly output: string | null;
  readonly output_artifact: string | null;
  readonly output_digest: string;
  readonly output_bytes: number;
  readonly shown: ToolOutput;
}

/** Output beyond it stands in an artifact, not in the row. */
const ROW_BYTES = 64 * 1024;

/** Redacts an output, keeps the whole of it, and cuts what the caller gets to `most` bytes. */
export async function keepOutput(
  output: ToolOutput,
  most: number,
  secrets: Redaction,
  artifacts: ArtifactStore,
): Promise<KeptOutput> {
  const whole = canonicalJson(secrets.json({ content: output.content, structured: output.structured ?? null }));
  const output_bytes = Buffer.byteLength(whole);
  const output_digest = toolOutputDigest(whole);
  const large = output_bytes > most || output_bytes > ROW_BYTES;
  const output_artifact = large ? await artifacts.put(whole) : null;
  if (large) await setImmediate(); // what else there is to do goes on between the steps
  const shown = cutOutput(JSON.parse(whole) as ToolOutput, output_bytes, most, output_artifact);
  return { output: large ? null : whole, output_artifact, output_digest, output_bytes, shown };
}

const DEFAULT_MOST_BYTES = 65_536;

/** How much of its output the caller of a tool run gets, by the source and by policy: whoever asks and whenever. */
export function mostShown(row: ToolRunRow, sources: GatewayDeps['sources']): number {
  const source = sources.find(({ name }) => name === row.source);
  return Math.min(
    source?.options.max_output_bytes ?? DEFAULT_MOST_BYTES,
    row.max_output_bytes ?? Number.POSITIVE_INFINITY,
  );
}

/** The output that the caller of a tool run got: from its row, or made again from the artifact. */
export async function shownOutput(
  row: ToolRunRow,
  { sources, artifacts }: Pick<GatewayDeps, 'sources' | 'artifacts'>,
): Promise<ToolOutput | null> {
  if (row.output !== null) return JSON.parse(row.output) as ToolOutput;
  if (row.output_artifact === null) return null;
  const most = mostShown(row, sources);
  const whole = (await artifacts.get(row.output_artifact, row.output_bytes)).toString();
  return cutOutput(JSON.parse(whole) as ToolOutput, row.output_bytes ?? whole.length, most, row.output_artifact);
}

/** The output cut to `most` bytes: texts keep their beginning, what is no text is left out, and a last block says what is missing. */
function cutOutput(output: ToolOutput, bytes: number, most: number, artifact: string | null): ToolOutput {
  if (bytes <= most) return output;
  const content: ContentBlock[] = [];
  let left = most;
  let leftOut = 0;
  for (const block of output.content) {
    const text = block.type === 'text' && typeof block['text'] === 'string' ? block['text'] : null;
    if (text === null || left <= 0) {
      leftOut += 1;
      continue;
    }
    const part = beginning(text, left);
    content.push({ type: 'text', text: part });
    left -= Buffer.byteLength(part);
  }
  const more = leftOut > 0 ? `; ${leftOut} block${leftOut === 1 ? '' : 's'} left out` : '';
  content.push({
    type: 'text',
    text: `[cut by Proctor: the output has ${bytes} bytes, ${most} are shown${more}; the whole is artifact ${artifact ?? '(not kept)'}]`,
  });
  return { content, structured: null };
}

function beginning(text: string, bytes: number): string {
  if (Buffer.byteLength(text) <= bytes) return text;
  return new TextDecoder().decode(Buffer.from(text).subarray(0, bytes)).replace(/�+$/, '');
}
