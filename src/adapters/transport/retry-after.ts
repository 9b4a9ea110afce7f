/** Milliseconds that a `Retry-After` header asks to wait (RFC 9110 §10.2.3: seconds or an HTTP date), or null when it says nothing usable. */
export function retryAfterMs(value: string | undefined, nowMs: number): number | null {
  const text = value?.trim() ?? '';
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  if (!/^[A-Za-z]{3,9},? /.test(text)) return null; // Date.parse takes far more than HTTP dates
  const at = Date.parse(text);
  return Number.isNaN(at) ? null : Math.max(0, at - nowMs);
}
