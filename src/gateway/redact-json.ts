import { canonicalJson } from '../lib/canonical-json.ts';
import type { SecretKeeper } from './ports.ts';

/** A JSON value without the secrets that stand in its texts, its members' names or as its numbers; sound JSON again, whatever a secret is. */
export function redactedJson(value: unknown, { redact }: Pick<SecretKeeper, 'redact'>): unknown {
  if (typeof value === 'string') return redact(value);
  if (typeof value === 'number') {
    const text = String(value);
    const clean = redact(text);
    return clean === text ? value : clean;
  }
  if (Array.isArray(value)) return value.map((item) => redactedJson(item, { redact }));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [redact(key), redactedJson(member, { redact })]),
  );
}

/** Canonical JSON without secrets; the same text when it holds none, which one search tells. */
export function redactedCanonical(canonical: string, secrets: Pick<SecretKeeper, 'redact'>): string {
  if (secrets.redact(canonical) === canonical) return canonical;
  return canonicalJson(redactedJson(JSON.parse(canonical), secrets));
}
