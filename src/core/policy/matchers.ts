import type { Matcher } from '../../contract/policy.ts';
import { canonicalJson } from '../../lib/canonical-json.ts';
import { compileGlobs } from '../../lib/glob.ts';
import type { CallFacts } from './facts.ts';

/** What a condition comes to: it holds, it does not, or it cannot be told (an argument is missing or of another kind). */
export type Truth = 'holds' | 'fails' | 'unknown';

/** A compiled test of one value; `undefined` is a value that is not there. */
export type ValueTest = (value: unknown, call: CallFacts) => Truth;

const truth = (holds: boolean): Truth => (holds ? 'holds' : 'fails');

/** The opposite; what cannot be told stays so. */
export function opposite(value: Truth): Truth {
  if (value === 'unknown') return 'unknown';
  return value === 'holds' ? 'fails' : 'holds';
}

/** All of them: one that fails decides, else one that cannot be told. */
export function every<Item>(items: readonly Item[], test: (item: Item) => Truth): Truth {
  let result: Truth = 'holds';
  for (const item of items) {
    const one = test(item);
    if (one === 'fails') return 'fails';
    if (one === 'unknown') result = 'unknown';
  }
  return result;
}

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

function onText(test: (text: string) => Truth): ValueTest {
  return (value) => (typeof value === 'string' ? test(value) : 'unknown');
}

function onNumber(test: (number: number) => Truth): ValueTest {
  return (value) => (typeof value === 'number' && Number.isFinite(value) ? test(value) : 'unknown');
}

function bytesOf(value: unknown): number {
  return Buffer.byteLength(typeof value === 'string' ? value : canonicalJson(value));
}

/**
 * Whether a path leads into a folder: as written once `.` and `..` are gone, and as the file system follows it. A path that could
 * mean several things (relative, with control characters, backslashes or percent escapes) cannot be told.
 */
function under(folder: string): ValueTest {
  const root = plainPath(folder);
  return (value, call) => {
    const path = typeof value === 'string' ? argumentPath(value) : null;
    if (path === null || root === null) return 'unknown';
    if (!inside(path, root)) return 'fails';
    const real = call.realPath(path);
    const realRoot = call.realPath(root);
    return real === null || realRoot === null ? 'unknown' : truth(inside(real, realRoot));
  };
}

/** The path of the argument looked at last: hundreds of rules ask for the same one, one after the other. */
let lastPath: { readonly text: string; readonly path: string | null } = { text: '', path: null };

function argumentPath(text: string): string | null {
  if (lastPath.text !== text) lastPath = { text, path: plainPath(text) };
  return lastPath.path;
}

/** The absolute path without `.`, `..` and double slashes; null when it may be read in another way. */
export function plainPath(path: string): string | null {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what is looked for
  if (!path.startsWith('/') || /[\u0000-\u001f\u007f\\]|%[0-9a-f]{2}/i.test(path)) return null;
  const parts: string[] = [];
  for (const part of path.split('/')) {
    if (part === '' || part === '.') continue;
    if (part === '..') parts.pop();
    else parts.push(part);
  }
  return `/${parts.join('/')}`;
}

function inside(path: string, folder: string): boolean {
  if (folder === '/' || path === folder) return true;
  return path.startsWith(folder) && path[folder.length] === '/';
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
