import type { ArtifactStore } from '../contract/artifact.ts';
import type { EvidenceRow } from '../contract/store.ts';
import { isCanonicalBytes, membersAt } from '../lib/canonical-bytes.ts';

/** A body of more bytes is not parsed where only a few members of it are needed: parsed it can take thirty times its bytes. */
export const LARGE_BYTES = 64 * 1024;
const SMALL_BYTES = 16 * 1024;

/** The body of an evidence row: its text, or its bytes where they are too many to parse. */
export type RawBody =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'bytes'; readonly bytes: Buffer };

/** The body of an evidence row, from the row or its artifact (verified on read); throws for a large one that Proctor did not write. */
export async function rawBodyOf(artifacts: ArtifactStore, { artifact, body }: EvidenceRow): Promise<RawBody> {
  if (artifact === null && body.length <= LARGE_BYTES) return { type: 'text', text: body };
  const bytes = artifact === null ? Buffer.from(body) : await artifacts.get(artifact);
  if (bytes.length <= LARGE_BYTES) return { type: 'text', text: bytes.toString() };
  if (isCanonicalBytes(bytes) && bytes[0] === 0x7b) return { type: 'bytes', bytes };
  throw new TypeError(
    `the body has ${bytes.length} bytes and is not an object in canonical JSON, as Proctor writes it`,
  );
}

/** Of a large body, the members of these names that are small, parsed; others are left out. */
export function smallMembers(bytes: Buffer, names: ReadonlySet<string>): Record<string, unknown> {
  const members: Record<string, unknown> = {};
  for (const { key, start, value, end } of membersAt(bytes, 0))
    if (names.has(key) && end - start <= SMALL_BYTES) members[key] = JSON.parse(bytes.toString('utf8', value, end));
  return members;
}
