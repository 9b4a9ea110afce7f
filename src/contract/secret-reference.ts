/** What a reference may lead to: a secret, which is redacted wherever it would be kept or shown, or a plain setting of the environment. */
export type ReferenceKind = 'secret' | 'env';

/** How references in a text are looked up; throws when one is not set. */
export type Lookup = (kind: ReferenceKind, name: string) => string;

const REFERENCE = /\$\{(secret|env):([A-Za-z_][A-Za-z0-9_]*)\}/g;
/** A text that is one reference and nothing else. */
export const REFERENCE_ONLY = new RegExp(`^${REFERENCE.source}$`);

/** True when the text is one reference to a secret and nothing else. */
export function isSecretReference(text: string): boolean {
  return REFERENCE_ONLY.exec(text)?.[1] === 'secret';
}

/** A reference to a secret as it is written. */
export function secretReference(name: string): string {
  return `\${secret:${name}}`;
}

/** The names of the secrets that a text refers to, each once. */
export function secretsReferredTo(text: string): string[] {
  const names = [...text.matchAll(REFERENCE)].flatMap(([, kind, name = '']) => (kind === 'secret' ? [name] : []));
  return [...new Set(names)];
}

/** The text with every reference replaced by what it leads to. */
export function replaceReferences(text: string, lookup: Lookup): string {
  return text.replace(REFERENCE, (_, kind: ReferenceKind, name: string) => lookup(kind, name));
}
