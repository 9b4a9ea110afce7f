import { ProctorError } from '../contract/problem.ts';

const LAST = 8_640_000_000_000_000; // ms from 1970, in either direction: no date lies beyond

/** A recorded instant in RFC 3339 UTC with milliseconds. */
export function instant(epochMs: number): string {
  if (Math.abs(epochMs) <= LAST) return new Date(epochMs).toISOString();
  throw new ProctorError(
    'store_altered',
    `the store has ${epochMs} in place of an instant; Proctor never writes that, so the store was altered: \`proctor verify RUN\` and \`proctor doctor --verify\` name the place; restore a backup`,
  );
}
