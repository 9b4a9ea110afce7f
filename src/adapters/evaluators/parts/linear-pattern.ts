import { configError } from './config-error.ts';
import { plain } from './shown.ts';

const MAX_PATTERN_CHARACTERS = 10_000;
const MAX_PROGRAM = 10_000;
/** Measured at 15–40 ns per character and instruction where the automaton's cache thrashes: at most some seconds, whatever the input. */
const MAX_STEPS = 200_000_000;
const MAX_TEXT = 1_000_000;

/** A compiled pattern that matches in time linear in the text. */
export interface LinearPattern {
  /** Longest text, in UTF-16 units, that the pattern is applied to. */
  readonly maxCharacters: number;
  /** True when the pattern occurs in the text; throws `TextTooLong` for a text over `maxCharacters`. */
  test(text: string): boolean;
}

/** A text is longer than a pattern is applied to. */
export class TextTooLong extends Error {}

/** Compiles patterns: written as for JavaScript, matched by RE2 (no backtracking, hence no look-around and no back references). */
export type PatternCompiler = (pattern: string, flags: string, field: string) => LinearPattern;

/** Loads RE2; it is large, and most profiles have no pattern. */
export async function patternCompiler(): Promise<PatternCompiler> {
  const { RE2JS } = await import('re2js');
  const bits: Readonly<Record<string, number>> = { i: RE2JS.CASE_INSENSITIVE, m: RE2JS.MULTILINE, s: RE2JS.DOTALL };
  const compile = (pattern: string, flags: string) => {
    let mask = 0;
    for (const flag of flags) mask |= bits[flag] ?? 0;
    return RE2JS.compile(RE2JS.translateRegExp(pattern), mask);
  };
  return (pattern, flags, field) => {
    if (pattern.length > MAX_PATTERN_CHARACTERS) {
      throw configError(field, `the pattern has ${pattern.length} characters; the most is ${MAX_PATTERN_CHARACTERS}`);
    }
    const compiled = refusing(() => compile(pattern, flags), pattern, field);
    const size = compiled.programSize();
    if (size > MAX_PROGRAM)
      throw configError(field, `the pattern compiles to ${size} instructions; the most is ${MAX_PROGRAM}`, {
        hint: 'lower its repeat counts',
      });
    const maxCharacters = Math.min(MAX_TEXT, Math.floor(MAX_STEPS / size));
    return {
      maxCharacters,
      test(text) {
        if (text.length > maxCharacters)
          throw new TextTooLong(`a text of ${text.length} characters is over the pattern's limit of ${maxCharacters}`);
        return compiled.test(text);
      },
    };
  };
}

function refusing<T>(compile: () => T, pattern: string, field: string): T {
  try {
    return compile();
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : String(cause);
    throw configError(
      field,
      `\`${plain(pattern)}\` is not a pattern: ${plain(message.replace(/^error parsing regexp: /, ''))}`,
      {
        cause,
        hint: 'patterns have RE2 syntax (linear time): no look-ahead, no look-behind, no back references, repeat counts up to 1000',
      },
    );
  }
}
