import { cut, SHOWN_CHARACTERS, shown } from './shown.ts';

/** Where two texts part, in UTF-16 units from 0; their common length when one starts with the other. */
export function firstDifference(actual: string, expected: string): number {
  const common = Math.min(actual.length, expected.length);
  let index = 0;
  while (index < common && actual.charCodeAt(index) === expected.charCodeAt(index)) index += 1;
  return index;
}

/** One sentence that shows two texts that differ: both from their start, or around the first difference where that is beyond what is shown. */
export function differenceReason(subject: string, actual: string, expected: string): string {
  const at = firstDifference(actual, expected);
  const far = at > SHOWN_CHARACTERS - 40;
  const start = far ? at - 40 : 0;
  const where = far ? `from character ${start} on, ` : '';
  const hint = actual.normalize() === expected.normalize() ? '; the two differ only in Unicode normalization' : '';
  return `${where}expected ${window(expected, start)} but ${subject} is ${window(actual, start)}${hint}`;
}

function window(text: string, start: number): string {
  if (start === 0) return shown(text);
  const part = text.slice(start);
  return shown(
    part.length > SHOWN_CHARACTERS ? `…${cut(part, SHOWN_CHARACTERS - 1)}…` : `…${part}`,
    SHOWN_CHARACTERS + 2,
  );
}
