import type { Redaction } from '../contract/redaction.ts';
import { secretsReferredTo } from '../contract/secret-reference.ts';
import { canonicalJson } from '../lib/canonical-json.ts';
import { parseStrictJson } from '../lib/strict-json.ts';

/** The arguments of a call in the one form that is decided, approved and carried out. */
export interface CallArguments {
  /** Canonical JSON; where they hold what must not be kept, what stands in its place. */
  readonly canonical: string;
  readonly value: Readonly<Record<string, unknown>>;
  /** Why the call is denied, whatever policy says; null when nothing speaks against it. */
  readonly refusal: { readonly code: string; readonly message: string } | null;
}

const MOST_BYTES = 1024 * 1024;
const MOST_DEPTH = 32;

/**
 * Arguments from JSON text or a value: parsed once into plain data of its own, so that nobody can change them afterwards. Refused are
 * anything but an object, duplicate and `__proto__` keys, lone surrogates, numbers that JSON does not carry, excess of depth or size, a
 * secret's value, and references to secrets that the source may not use.
 */
export function callArguments(
  input: string | unknown,
  { secrets, allowed }: { readonly secrets: Redaction; readonly allowed: readonly string[] },
): CallArguments {
  const text = typeof input === 'string' ? input : writable(input);
  if (typeof text !== 'string') return refused('invalid_arguments', text.problem);
  if (Buffer.byteLength(text) > MOST_BYTES)
    return refused(
      'arguments_too_large',
      `the arguments have ${Buffer.byteLength(text)} bytes; the most is ${MOST_BYTES}`,
    );
  const parsed = parseStrictJson(text, { max_depth: MOST_DEPTH });
  const [issue] = parsed.issues;
  if (parsed.type === 'invalid' || issue !== undefined)
    return refused('invalid_arguments', `the arguments are not plain JSON: ${issue?.message ?? 'they cannot be read'}`);
  const { value } = parsed;
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return refused('invalid_arguments', 'the arguments must be a JSON object');
  if (hasProto(value)) return refused('invalid_arguments', 'the arguments have a member `__proto__`');
  const canonical = canonicalJson(value);
  const clean = secrets.json(value);
  if (clean !== value)
    return refused(
      'secret_in_arguments',
      `the arguments hold the value of a secret; write it as \${secret:NAME}`,
      canonicalJson(clean),
    );
  const strange = secretsReferredTo(canonical).find((name) => !allowed.includes(name));
  const plain = JSON.parse(canonical) as Record<string, unknown>;
  if (strange !== undefined)
    return {
      canonical,
      value: plain,
      refusal: {
        code: 'secret_not_allowed',
        message: `this source may not use the secret ${strange}; its \`secrets\` in proctor.yaml list those it may`,
      },
    };
  return { canonical, value: plain, refusal: null };
}

function refused(code: string, message: string, canonical = '{}'): CallArguments {
  return { canonical, value: {}, refusal: { code, message } };
}

function writable(input: unknown): string | { readonly problem: string } {
  try {
    return canonicalJson(input ?? {});
  } catch (error) {
    if (error instanceof TypeError || error instanceof RangeError)
      return { problem: `the arguments are not plain JSON: ${error.message}` };
    throw error;
  }
}

function hasProto(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (Array.isArray(value)) return value.some(hasProto);
  return Object.entries(value).some(([key, member]) => key === '__proto__' || hasProto(member));
}
