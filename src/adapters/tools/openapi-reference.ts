import { pointerValue } from '../../lib/json-pointer.ts';
import { isMembers, type Members, Unusable } from './openapi-binding.ts';

const MOST_STEPS = 50;

/** The JSON pointer of a reference within the document; one that leads elsewhere is refused, because nothing is fetched. */
export function localPointer(reference: unknown): string {
  const shown = typeof reference === 'string' ? reference.slice(0, 120) : JSON.stringify(reference);
  if (typeof reference !== 'string' || !(reference === '#' || reference.startsWith('#/')))
    throw new Unusable(
      `it refers to \`${shown}\`, which is not a JSON pointer within the document; nothing is fetched`,
    );
  try {
    return decodeURIComponent(reference.slice(1));
  } catch (error) {
    if (!(error instanceof URIError)) throw error;
    throw new Unusable(`it refers to \`${shown}\`, whose percent escapes are wrong`);
  }
}

/** What a pointer of the document leads to. */
export function pointed(root: Members, pointer: string): unknown {
  const value = pointerValue(root, pointer);
  if (value === undefined)
    throw new Unusable(`it refers to \`#${pointer.slice(0, 120)}\`, which is not in the document`);
  return value;
}

/** A parameter, body, response or path that may stand elsewhere in the document; references are followed to their end. */
export function followed(root: Members, value: unknown, what: string): Members {
  let at = value;
  for (let step = 0; isMembers(at) && Object.hasOwn(at, '$ref'); step += 1) {
    if (step === MOST_STEPS) throw new Unusable(`the references of ${what} have no end`);
    at = pointed(root, localPointer(at['$ref']));
  }
  if (!isMembers(at)) throw new Unusable(`${what} is no object`);
  return at;
}
