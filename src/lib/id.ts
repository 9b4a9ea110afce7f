import { randomFillSync } from 'node:crypto';

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'; // Crockford's base 32, lower case

/** A prefixed, time-ordered, unique id: `run_` + 10 characters of epoch milliseconds + 16 random characters. */
export function newId(prefix: string, nowMs: number): string {
  return `${prefix}_${base32(nowMs, 10)}${randomText(16)}`;
}

/** `length` random characters of base 32 (5 bits each): lease ids and tokens. */
export function randomText(length: number): string {
  let text = '';
  while (text.length < length) {
    if (used === pool.length) {
      randomFillSync(pool);
      used = 0;
    }
    text += ALPHABET[(pool[used] ?? 0) & 31];
    pool[used] = 0; // what became a token stays nowhere else
    used += 1;
  }
  return text;
}

// The system's generator is asked for many ids at once: one question costs as much as all else of a short call.
const pool = new Uint8Array(2048);
let used = pool.length;

/** The id of execution `ordinal` (from 0) of a run: ordered as the plan is, derived so that no row has to store it. */
export function executionId(runId: string, ordinal: number): string {
  return `exe_${runId.slice(4)}_${base32(ordinal, 6)}`;
}

/** The id of attempt `attempt` (from 1) of an execution. */
export function attemptId(runId: string, ordinal: number, attempt: number): string {
  return `att_${runId.slice(4)}_${base32(ordinal, 6)}_${attempt}`;
}

function base32(value: number, length: number): string {
  let text = '';
  let rest = value;
  for (let index = 0; index < length; index += 1) {
    text = ALPHABET[rest % 32] + text;
    rest = Math.floor(rest / 32);
  }
  return text;
}
