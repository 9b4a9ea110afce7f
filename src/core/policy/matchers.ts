import type { Condition, Matcher } from '../../contract/matcher.ts';
import { canonicalJson } from '../../lib/canonical-json.ts';
import { compileGlobs } from '../../lib/glob.ts';
import type { CallFacts } from './facts.ts';
import { under } from './paths.ts';
import { sqlTest } from './statements.ts';
import { alike, every, opposite, type Truth, truth } from './truth.ts';
import { compileUrl } from './urls.ts';

/** A compiled test of one value; `undefined` is a value that is not there. */
export type ValueTest = (value: unknown, call: CallFacts) => Truth;

/** Compiles a matcher; a value that is missing can only be told by `has`. */
export function compileMatcher(matcher: Matcher): ValueTest {
  const tests: ValueTest[] = [];
  const add = <Member>(member: Member | undefined, make: (member: Member) => ValueTest) => {
    if (member !== undefined) tests.push(make(member));
  };
  add(matcher.eq, (wanted) => (value) => truth(value === wanted));
  add(matcher.in, (wanted) => oneOf(wanted));
  add(matcher.glob, (wanted) => {
    const matches = compileGlobs(wanted);
    return onText((text) => truth(matches(text)));
  });
  add(matcher.under, (folder) => under(folder));
  add(matcher.host, (wanted) => {
    const matches = compileGlobs(wanted);
    return onText((text) => host(text, matches));
  });
  add(matcher.url, (wanted) => {
    const test = compileUrl(wanted);
    return onText(test);
  });
  add(matcher.sql, (wanted) => sqlTest(wanted));
  add(matcher.each, (wanted) => each(compileTest(wanted)));
  add(matcher.min, (least) => onNumber((number) => truth(number >= least)));
  add(matcher.max, (most) => onNumber((number) => truth(number <= most)));
  add(matcher.max_bytes, (most) => (value) => truth(bytesOf(value) <= most));
  const { has } = matcher;
  const [only] = tests;
  const all: ValueTest =
    tests.length === 1 && only !== undefined ? only : (value, call) => every(tests, (test) => test(value, call));
  return (value, call) => {
    if (value === undefined) {
      if (has === false) return 'holds';
      return has === true ? 'fails' : 'unknown';
    }
    if (has === false) return 'fails';
    return all(value, call);
  };
}

/** A test for one of some literal values. */
export function oneOf(wanted: readonly unknown[]): ValueTest {
  const values = new Set(wanted);
  return (value) => (value === undefined ? 'unknown' : truth(values.has(value)));
}

/** Compiles a condition: a literal value, a list of them, a matcher, or `not` one. */
export function compileTest(condition: Condition): ValueTest {
  if (Array.isArray(condition)) return oneOf(condition);
  if (typeof condition !== 'object' || condition === null) return oneOf([condition]);
  if ('not' in condition) {
    const inner = compileTest(condition.not as Condition);
    return (value, call) => opposite(inner(value, call));
  }
  return compileMatcher(condition as Matcher);
}

/** The elements of a list: all of them, none of them, or else it cannot be told; nor can it of an empty one. */
function each(test: ValueTest): ValueTest {
  return (value, call) => (Array.isArray(value) ? alike(value, (element) => test(element, call)) : 'unknown');
}

function onText(test: (text: string) => Truth): ValueTest {
  return (value) => (typeof value === 'string' ? test(value) : 'unknown');
}

function onNumber(test: (number: number) => Truth): ValueTest {
  return (value) => (typeof value === 'number' && Number.isFinite(value) ? test(value) : 'unknown');
}

function bytesOf(value: unknown): number {
  return Buffer.byteLength(typeof value === 'string' ? value : canonicalJson(value));
}

function host(text: string, matches: (name: string) => boolean): Truth {
  // What a URL parser drops in silence (tabs, line ends, spaces around) another program may read in another way.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what is looked for
  if (/[\u0000-\u0020\u007f\\]/.test(text) || !URL.canParse(text)) return 'unknown';
  const url = new URL(text);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return 'unknown';
  if (url.username !== '' || url.password !== '') return 'unknown';
  const name = url.hostname.replace(/\.$/, '');
  return truth(matches(name));
}
