import { isUtf8 } from 'node:buffer';

/** Decoded bytes, or the offset of the first byte that is not valid UTF-8. A byte order mark is kept as a character. */
export type DecodedUtf8 =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'invalid'; readonly offset: number };

/** Decodes bytes that must be UTF-8; nothing is replaced silently. */
export function decodeUtf8(bytes: Buffer): DecodedUtf8 {
  return isUtf8(bytes)
    ? { type: 'text', text: bytes.toString('utf8') }
    : { type: 'invalid', offset: invalidOffset(bytes) };
}

/** True when the bytes start with UTF-8's byte order mark. */
export function startsWithMark(bytes: Uint8Array): boolean {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
}

/** Decoding replaces each bad sequence by U+FFFD: encoding again differs first inside the bytes of that replacement. */
function invalidOffset(bytes: Buffer): number {
  const repaired = Buffer.from(bytes.toString('utf8'), 'utf8');
  let offset = 0;
  while (offset < bytes.length && bytes[offset] === repaired[offset]) offset += 1;
  while (offset > 0 && ((repaired[offset] ?? 0) & 0xc0) === 0x80) offset -= 1;
  return offset;
}
