import type { SeededRandom } from '../../src/core/statistics/seeded-random.ts';
import { oneOf, someOf } from './tally.ts';

/** A command line with files of which something is wrong. */
export interface Input {
  readonly kind: string;
  readonly name: string;
  readonly files: Readonly<Record<string, Content>>;
  readonly argv: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  /** Nobody could take it for right, so exit code 0 is a failure too. */
  readonly hopeless?: boolean;
}

/** What stands in a file, or makes it: large ones are made when they are wanted. */
export type Content = string | Buffer | Empty | Link | (() => string | Buffer | Empty);

/** A file of so many zero bytes that lies nowhere. */
export interface Empty {
  readonly zeros: number;
}

/** A link to something that is no regular file. */
export interface Link {
  readonly link: 'pipe' | 'device' | 'folder' | 'dangling' | 'loop';
}

const WRONG: readonly (readonly [string, unknown])[] = [
  ['null', null],
  ['true', true],
  ['-1', -1],
  ['half', 0.5],
  ['1e308', 1e308],
  ['2^53', 2 ** 53],
  ['an empty text', ''],
  ['a NUL', 'a\0b'],
  ['half a surrogate pair', '\ud83d'],
  ['a path out of the folder', '../../../../etc/passwd'],
  ['a long text', 'x'.repeat(200_000)],
  ['an escape sequence', '\u001b[2J\u001b]0;x\u0007'],
  ['a secret that is not set', `\${secret:NOT_SET}`],
  ['an unclosed secret', `\${secret:`],
  ['an empty list', []],
  ['a list of lists', [[[[]]]]],
  ['an empty object', {}],
  ['__proto__', JSON.parse('{"__proto__":{"x":1},"constructor":1}')],
  ['a thousand entries', Array.from({ length: 1_000 }, (_, i) => ({ id: i, ref: 'x' }))],
];

type Path = readonly (string | number)[];

/** A document with so many of its members made wrong, one at a time: another value, left out, or one that nobody knows beside it. */
export function* spoilt(document: unknown, random: SeededRandom, count: number): Generator<readonly [string, string]> {
  const paths = [...pathsOf(document)];
  for (let index = 0; index < count; index += 1) {
    const path = oneOf(random, paths);
    const [told, value] = oneOf(random, [...WRONG, ['left out', undefined] as const]);
    const copy = structuredClone({ root: document });
    set(copy, ['root', ...path], value);
    yield [`${path.join('.') || 'the whole'}: ${told}`, JSON.stringify(copy.root) ?? ''];
  }
}

function* pathsOf(value: unknown, path: Path = []): Generator<Path> {
  yield path;
  if (typeof value !== 'object' || value === null) return;
  for (const [key, member] of Object.entries(value))
    yield* pathsOf(member, [...path, Array.isArray(value) ? Number(key) : key]);
}

function set(target: unknown, path: Path, value: unknown): void {
  const [key = '', ...rest] = path;
  const object = target as Record<string | number, unknown>;
  if (rest.length > 0) set(object[key], rest, value);
  else if (value === undefined) delete object[key];
  else object[key] = value;
}

const DEEP = 100_000;

/** Files that are wrong whatever stands in them, from a sound one. */
const DAMAGED: Readonly<Record<string, (sound: Buffer) => Buffer | Empty>> = {
  empty: () => Buffer.alloc(0),
  'only a newline': () => Buffer.from('\n'),
  'cut in the middle': (sound) => sound.subarray(0, sound.length >> 1),
  'with a byte order mark': (sound) => Buffer.concat([Buffer.from('\ufeff'), sound]),
  'in UTF-16': (sound) => Buffer.from(`\ufeff${sound.toString()}`, 'utf16le'),
  'with a NUL': (sound) =>
    Buffer.concat([sound.subarray(0, sound.length >> 1), Buffer.of(0), sound.subarray(sound.length >> 1)]),
  'not UTF-8': (sound) => Buffer.concat([sound.subarray(0, 3), Buffer.of(0xff, 0xc0, 0x80), sound.subarray(3)]),
  noise: () => Buffer.from(Array.from({ length: 4_096 }, (_, index) => (index * 7_919 + (index >> 3)) % 251)),
  'old line ends': (sound) => Buffer.from(sound.toString().replaceAll('\n', '\r')),
  'lists in depth': () => Buffer.from('['.repeat(DEEP)),
  'objects in depth': () => Buffer.from(`${'{"a":'.repeat(DEEP)}1${'}'.repeat(DEEP)}`),
  'a number without an end': () => Buffer.from(`{"a":1${'0'.repeat(1_000_000)}}`),
  'a number that JSON has not': () => Buffer.from('{"a":NaN,"b":Infinity,"c":0x10,"d":01}'),
  'a key twice': () => Buffer.from('{"id":"a","id":"b","version":1,"version":2}'),
  'an unfinished text': () => Buffer.from(`{"a":"${'x'.repeat(1_000_000)}`),
  'a text of 30 MB': () => Buffer.from(`{"a":"${'x'.repeat(30_000_000)}"}`),
  'a hundred thousand members': () =>
    Buffer.from(`{${Array.from({ length: 100_000 }, (_, i) => `"k${i}":${i}`).join(',')}}`),
  'a gibibyte of zeros': () => ({ zeros: 2 ** 30 }),
};

/** Some of the damages, by seed. */
export function damaged(sound: Buffer | string, random: SeededRandom, count: number): [string, () => Buffer | Empty][] {
  const bytes = Buffer.from(sound);
  return someOf(random, Object.entries(DAMAGED), count).map(([name, damage]) => [name, () => damage(bytes)]);
}
