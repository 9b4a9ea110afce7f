import type { SecretKeeper } from './ports.ts';

const REFERENCE = /\$\{secret:[A-Za-z_][A-Za-z0-9_]*\}/g;

/** The arguments with secrets in place of their references: made at the last moment, and kept nowhere. */
export function resolveReferences(
  value: Readonly<Record<string, unknown>>,
  secrets: Pick<SecretKeeper, 'resolve'>,
): Readonly<Record<string, unknown>> {
  return walk(value, secrets) as Readonly<Record<string, unknown>>;
}

function walk(value: unknown, secrets: Pick<SecretKeeper, 'resolve'>): unknown {
  // Only references to secrets: `${env:…}` in an argument is a text like any other.
  if (typeof value === 'string') return value.replace(REFERENCE, (reference) => secrets.resolve(reference));
  if (Array.isArray(value)) return value.map((item) => walk(item, secrets));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, walk(member, secrets)]));
}
