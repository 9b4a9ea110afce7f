import { describe, expect, test } from 'vitest';
import { matcherSchema } from '../../../src/contract/matcher.ts';
import { compileMatcher, oneOf } from '../../../src/core/policy/matchers.ts';
import { plainFolder, plainPath } from '../../../src/core/policy/paths.ts';
import { every, opposite } from '../../../src/core/policy/truth.ts';
import { call } from '../../support/policy.ts';

const truthOf = (matcher: object, value: unknown, facts: object = {}) =>
  compileMatcher(matcherSchema.parse(matcher))(value, call(facts));

test('the opposite of what cannot be told cannot be told', () => {
  expect([opposite('holds'), opposite('fails'), opposite('unknown')]).toEqual(['fails', 'holds', 'unknown']);
});

test('all of them: the first that fails ends it', () => {
  const asked: number[] = [];
  const of = (...truths: readonly ('holds' | 'fails' | 'unknown')[]) =>
    every([...truths.entries()], ([index, one]) => {
      asked.push(index);
      return one;
    });
  expect([of(), of('holds', 'holds'), of('unknown', 'holds'), of('holds', 'unknown')]).toEqual([
    'holds',
    'holds',
    'unknown',
    'unknown',
  ]);
  asked.length = 0;
  expect(of('unknown', 'fails', 'holds')).toBe('fails');
  expect(asked).toEqual([0, 1]);
});

test('one of several values; what is not there cannot be told', () => {
  const test = oneOf(['a', 1, null]);
  expect(['a', 1, null, 'b', '1', undefined].map((value) => test(value, call()))).toEqual([
    'holds',
    'holds',
    'holds',
    'fails',
    'fails',
    'unknown',
  ]);
});

describe('a matcher', () => {
  test.each([
    [{ eq: 'a' }, 'a', 'holds'],
    [{ eq: 'a' }, 'b', 'fails'],
    [{ in: ['a'] }, 'a', 'holds'],
    [{ in: ['a'] }, 'b', 'fails'],
    [{ glob: 'a*' }, 'ab', 'holds'],
    [{ glob: 'a*' }, 'b', 'fails'],
    [{ glob: '*' }, 7, 'unknown'],
    [{ min: 3 }, 3, 'holds'],
    [{ min: 3 }, 4, 'holds'],
    [{ min: 3 }, 2.9, 'fails'],
    [{ max: 3 }, 3, 'holds'],
    [{ max: 3 }, 2, 'holds'],
    [{ max: 3 }, 3.1, 'fails'],
    [{ min: 3 }, '4', 'unknown'],
    [{ min: 3 }, Number.NaN, 'unknown'],
    [{ min: 3 }, Number.POSITIVE_INFINITY, 'unknown'],
    [{ max_bytes: 4 }, 'éé', 'holds'],
    [{ max_bytes: 3 }, 'éé', 'fails'],
    [{ max_bytes: 4 }, 'ab', 'holds'],
    [{ max_bytes: 7 }, { a: 1 }, 'holds'],
    [{ max_bytes: 6 }, { a: 1 }, 'fails'],
    [{ min: 1, max: 3 }, 2, 'holds'],
    [{ min: 1, max: 3 }, 4, 'fails'],
    [{ min: 1, max: 3 }, 0, 'fails'],
    [{ min: 1, glob: '*' }, 2, 'unknown'],
    [{ min: 3, glob: '*' }, 2, 'fails'],
    [{ has: true }, null, 'holds'],
    [{ has: true }, undefined, 'fails'],
    [{ has: false }, null, 'fails'],
    [{ has: false }, undefined, 'holds'],
    [{ has: true, eq: 'a' }, 'b', 'fails'],
    [{ has: true, eq: 'a' }, undefined, 'fails'],
    [{ has: false, eq: 'a' }, 'a', 'fails'],
    [{ eq: 'a' }, undefined, 'unknown'],
    [{ max_bytes: 9 }, undefined, 'unknown'],
  ] as const)('%j of %j: %s', (matcher, value, truth) => {
    expect(truthOf(matcher, value)).toBe(truth);
  });

  test('one test is asked with the value as it is', () => {
    expect(truthOf({ min: 1, has: true }, 2)).toBe('holds');
  });
});

describe('paths', () => {
  test.each([
    ['/', '/'],
    ['/a/b', '/a/b'],
    ['/a//b/', '/a/b'],
    ['/a/./b/.', '/a/b'],
    ['/a/../b', '/b'],
    ['/../..', '/'],
    ['/a/...', '/a/...'],
    ['/a b/é', '/a b/é'],
    ['/100%', '/100%'],
    ['/%zz', '/%zz'],
    ['a/b', null],
    ['', null],
    ['a/', null],
    ['/a\u0000', null],
    ['/a\u001f', null],
    ['/a\u007f', null],
    ['/a\\b', null],
    ['/%2e', null],
    ['/%2E', null],
    ['/%AF', null],
  ])('%j is %j', (path, plain) => {
    expect(plainPath(path)).toBe(plain);
  });

  test.each([
    ['/w', '/w', 'holds'],
    ['/w/a', '/w', 'holds'],
    ['/w/../x', '/w', 'fails'],
    ['/wx', '/w', 'fails'],
    ['/x/w', '/w', 'fails'],
    ['/anything', '/', 'holds'],
    ['w', '/w', 'unknown'],
    ['', '/w', 'unknown'],
    [7, '/w', 'unknown'],
    ['/w/a', 'w', 'unknown'],
  ])('%j under %j: %s', (path, folder, truth) => {
    expect(truthOf({ under: folder }, path)).toBe(truth);
  });

  test('as written and as links lead, of the path and of the folder: where they differ, it cannot be told', () => {
    const follow = (links: Readonly<Record<string, string | null>>) => ({
      realPath: (path: string) => (Object.hasOwn(links, path) ? links[path] : path),
    });
    const under = (links: Readonly<Record<string, string | null>>, path = '/w/a') =>
      truthOf({ under: '/w' }, path, follow(links));
    expect(under({})).toBe('holds');
    expect(under({ '/w/a': '/etc' })).toBe('unknown');
    expect(under({ '/w': '/p', '/w/a': '/p/a' })).toBe('holds');
    expect(under({ '/w': '/p' }, '/p/a')).toBe('unknown');
    expect(under({ '/x': '/y' }, '/x')).toBe('fails');
    // A link from outside opens no door, and gets round none.
    expect(under({ '/x': '/w/a' }, '/x')).toBe('unknown');
    expect([under({ '/w/a': null }), under({ '/w': null }), under({ '/x': null }, '/x')]).toEqual(
      Array(3).fill('unknown'),
    );
  });

  test.each([
    ['.', '/project/a', 'holds'],
    ['./data', '/project/data/a', 'holds'],
    ['./data', '/project/data', 'holds'],
    ['./data', '/project/database', 'fails'],
    ['./data', '/data/a', 'fails'],
    ['./data', 'data/a', 'unknown'],
    ['./data', './data/a', 'unknown'],
  ])('a folder of the project: %j has %j: %s', (folder, path, truth) => {
    expect(truthOf({ under: folder }, path)).toBe(truth);
  });

  test.each([
    ['.', '.'],
    ['./', '.'],
    ['./a/', './a'],
    ['./a//./b', './a/b'],
    ['./..', null],
    ['./a/../b', null],
    ['./a%2e', null],
    ['/a/', '/a'],
    ['a', null],
    ['..', null],
  ])('the folder %j is %j', (name, plain) => {
    expect(plainFolder(name)).toBe(plain);
  });
});

describe('every element of a list', () => {
  test.each([
    [{ each: { under: '/w' } }, ['/w/a', '/w/b'], 'holds'],
    [{ each: { under: '/w' } }, ['/w/a', '/x'], 'unknown'],
    [{ each: { under: '/w' } }, ['/y', '/x'], 'fails'],
    [{ each: { under: '/w' } }, ['/y', 7], 'unknown'],
    [{ each: { under: '/w' } }, ['/w/a', ['/w/b']], 'unknown'],
    [{ each: { under: '/w' } }, [], 'unknown'],
    [{ each: { under: '/w' } }, '/w/a', 'unknown'],
    [{ each: { under: '/w' } }, { 0: '/w/a', length: 1 }, 'unknown'],
    [{ each: ['a', 'b'] }, ['a', 'b', 'a'], 'holds'],
    [{ each: ['a', 'b'] }, ['a', 'c'], 'unknown'],
    [{ each: 'a' }, ['a'], 'holds'],
    [{ each: { glob: 'a*' }, max_bytes: 10 }, ['ab'], 'holds'],
    [{ each: { glob: 'a*' }, max_bytes: 2 }, ['ab'], 'fails'],
  ])('%j of %j: %s', (matcher, value, truth) => {
    expect(truthOf(matcher, value)).toBe(truth);
  });
});

describe('hosts', () => {
  const host = (url: unknown) => truthOf({ host: ['api.example.com', '*.trusted.dev'] }, url);

  test.each([
    ['https://api.example.com/x', 'holds'],
    ['http://a.trusted.dev:80/', 'holds'],
    ['https://API.example.com./', 'holds'],
    ['https://api.example.com../', 'fails'],
    ['https://api.example.com.evil.test/', 'fails'],
    ['https://trusted.dev/', 'fails'],
    ['ftp://api.example.com/', 'unknown'],
    ['https://u@api.example.com/', 'unknown'],
    ['https://:p@api.example.com/', 'unknown'],
    ['https://u:p@api.example.com/', 'unknown'],
    ['https://api.example.com/a b', 'unknown'],
    ['https://api.example.com/\u007f', 'unknown'],
    ['https:\\\\api.example.com', 'unknown'],
    ['api.example.com', 'unknown'],
    [7, 'unknown'],
  ])('%j: %s', (url, truth) => {
    expect(host(url)).toBe(truth);
  });
});
