import { URL_SCHEMES, type UrlMatcher, type UrlScheme } from '../../contract/matcher.ts';
import { compileGlobs } from '../../lib/glob.ts';
import { inside } from './paths.ts';
import { every, type Truth, truth } from './truth.ts';

/** A URL that every program reads in the same way. */
export interface PlainUrl {
  readonly scheme: UrlScheme;
  /** In lower case; IPv6 in brackets. */
  readonly host: string;
  readonly port: number;
  readonly path: string;
  /** Whether the path has nothing that servers read in several ways. */
  readonly plain_path: boolean;
}

const SHAPE = /^(https?|wss?):\/\/([^/?#]+)([^?#]*)/i;
const MOST_LENGTH = 16_384;
/** In a path: empty segments, parameters of a segment, escapes of what needs none, of separators, of `%` and of control characters. */
const ODD_PATH = /\/\/|;|%(?:[01][0-9a-f]|2[5def]|3[0-9]|[46][1-9a-f]|[57][0-9a]|5[cf]|7[ef])/i;

/**
 * A URL that is written as the WHATWG's parser would write it (but for capitals in scheme and host, the scheme's own port, and an empty
 * path). Null for any other: one with a user or a password, hosts in other spellings of an address, beyond ASCII, or with an empty
 * label, `.` and `..`, backslashes, blanks.
 */
export function plainUrl(text: string): PlainUrl | null {
  const shape = text.length <= MOST_LENGTH && /^[\x21-\x7e]+$/.test(text) ? SHAPE.exec(text) : null;
  if (shape === null || !URL.canParse(text)) return null;
  const url = new URL(text);
  const scheme = (shape[1] ?? '').toLowerCase() as UrlScheme;
  const own = `:${URL_SCHEMES[scheme]}`;
  const authority = (shape[2] ?? '').toLowerCase();
  const host = authority.endsWith(own) ? authority.slice(0, -own.length) : authority;
  const path = shape[3] === '' ? '/' : (shape[3] ?? '');
  if (`${scheme}://${host}${path}` !== `${url.protocol}//${url.host}${url.pathname}`) return null;
  const { hostname } = url;
  if (url.username !== '' || url.password !== '' || hostname.split('.').includes('')) return null;
  const port = url.port === '' ? URL_SCHEMES[scheme] : Number(url.port);
  return { scheme, host: hostname, port, path, plain_path: !ODD_PATH.test(path) };
}

/** The URL of the argument looked at last: hundreds of rules ask for the same one, one after the other. */
let last: { readonly text: string; readonly url: PlainUrl | null } = { text: '', url: null };

function argumentUrl(text: string): PlainUrl | null {
  if (last.text !== text) last = { text, url: plainUrl(text) };
  return last.url;
}

/** A test for URLs like these; a URL that may be read in several ways cannot be told. */
export function compileUrl(wanted: UrlMatcher | readonly string[]): (text: string) => Truth {
  const tests = (Array.isArray(wanted) ? wanted.map(urlForm) : [wanted as UrlMatcher]).map((form) =>
    form === null ? () => 'unknown' as const : compileForm(form),
  );
  return (text) => {
    const url = argumentUrl(text);
    return url === null ? 'unknown' : any(tests, (test) => test(url));
  };
}

/** What a URL written in a policy stands for; its host may be a glob. Null when it is no plain URL, or says more than these four. */
export function urlForm(text: string): UrlMatcher | null {
  const url = /[?#]/.test(text) ? null : plainUrl(text);
  if (url === null || !url.plain_path) return null;
  return { scheme: [url.scheme], host: [url.host], port: [url.port], path: [url.path] };
}

/** Members that are not named take what is usual, and cannot tell of the rest: a rule that allows goes no further than what it says. */
function compileForm({ scheme, host, port, path }: UrlMatcher): (url: PlainUrl) => Truth {
  const hosts = host === undefined ? null : compileGlobs(host);
  const folders = path?.map((prefix) => (prefix === '/' ? prefix : prefix.replace(/\/+$/, '')));
  const tests: ((url: PlainUrl) => Truth)[] = [
    (url) => (hosts === null ? 'holds' : truth(hosts(url.host))),
    (url) => (scheme === undefined ? usually(/s$/.test(url.scheme)) : truth(scheme.includes(url.scheme))),
    (url) => (port === undefined ? usually(url.port === URL_SCHEMES[url.scheme]) : truth(port.includes(url.port))),
    (url) => (folders === undefined ? 'holds' : pathIn(url, folders)),
  ];
  return (url) => every(tests, (test) => test(url));
}

const usually = (usual: boolean): Truth => (usual ? 'holds' : 'unknown');

function pathIn(url: PlainUrl, folders: readonly string[]): Truth {
  if (!url.plain_path) return 'unknown';
  if (folders.some((folder) => inside(url.path, folder))) return 'holds';
  // Some servers do not tell capitals from small letters.
  const path = url.path.toLowerCase();
  return folders.some((folder) => inside(path, folder.toLowerCase())) ? 'unknown' : 'fails';
}

/** One of them: one that holds decides, else one that cannot be told. */
function any<Item>(items: readonly Item[], test: (item: Item) => Truth): Truth {
  const truths = items.map(test);
  if (truths.includes('holds')) return 'holds';
  return truths.includes('unknown') ? 'unknown' : 'fails';
}
