/** A number that depends on the text alone (FNV-1a, 32 bits). */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  return hash;
}

/** What the chaos agent says to a case: the truth, except for about one case in twelve. */
export function agentAnswer(caseId: string): string {
  return hashOf(caseId) % 12 === 0 ? 'no idea' : `answer to ${caseId}`;
}
