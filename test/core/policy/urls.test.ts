import { describe, expect, test } from 'vitest';
import { matcherSchema } from '../../../src/contract/matcher.ts';
import { compileMatcher } from '../../../src/core/policy/matchers.ts';
import { plainUrl, urlForm } from '../../../src/core/policy/urls.ts';
import { call } from '../../support/policy.ts';

const truthOf = (url: unknown, value: unknown) => compileMatcher(matcherSchema.parse({ url }))(value, call());

describe('a URL that every program reads in the same way', () => {
  test.each([
    ['https://api.example.com', 'https', 'api.example.com', 443, '/', true],
    ['https://api.example.com/', 'https', 'api.example.com', 443, '/', true],
    ['HTTPS://API.Example.com:443/v1', 'https', 'api.example.com', 443, '/v1', true],
    ['http://a:80', 'http', 'a', 80, '/', true],
    ['http://a:8080/x?q=1#f', 'http', 'a', 8080, '/x', true],
    ['https://a?q=/../..', 'https', 'a', 443, '/', true],
    ['ws://a/x', 'ws', 'a', 80, '/x', true],
    ['wss://a/x', 'wss', 'a', 443, '/x', true],
    ['http://127.0.0.1:1/', 'http', '127.0.0.1', 1, '/', true],
    ['http://[::1]/', 'http', '[::1]', 80, '/', true],
    ['https://xn--bcher-kva.example/', 'https', 'xn--bcher-kva.example', 443, '/', true],
    ['https://a/b%20c', 'https', 'a', 443, '/b%20c', true],
    ['https://a/b%C3%A9', 'https', 'a', 443, '/b%C3%A9', true],
    ['https://a//b', 'https', 'a', 443, '//b', false],
    ['https://a/b;c', 'https', 'a', 443, '/b;c', false],
    ['https://a/%2f', 'https', 'a', 443, '/%2f', false],
    ['https://a/%5Cb', 'https', 'a', 443, '/%5Cb', false],
    ['https://a/%252e', 'https', 'a', 443, '/%252e', false],
    ['https://a/%61dmin', 'https', 'a', 443, '/%61dmin', false],
    ['https://a/%00', 'https', 'a', 443, '/%00', false],
    ['https://a/%7F', 'https', 'a', 443, '/%7F', false],
  ])('%s', (text, scheme, host, port, path, plain_path) => {
    expect(plainUrl(text)).toEqual({ scheme, host, port, path, plain_path });
  });

  test.each([
    '',
    'api.example.com',
    '//api.example.com/',
    '/v1',
    'ftp://a/',
    'file:///etc/passwd',
    'javascript:alert(1)',
    'https:api.example.com',
    'https:/api.example.com',
    'https:///api.example.com',
    'https:\\\\api.example.com',
    'https://api.example.com\\@evil.test/',
    'https://u@api.example.com/',
    'https://u:p@api.example.com/',
    'https://@api.example.com/',
    'https://:@api.example.com/',
    'https://evil.test#@api.example.com@x/\u0000',
    'https://api.example.com./',
    'https://api..example.com/',
    'https://.example.com/',
    'https://api.example.com:/',
    'https://api.example.com:0443/',
    'https://api.example.com:99999/',
    'https://api.example%2ecom/',
    'https://%61pi.example.com/',
    'https://bücher.example/',
    'https://ａpi.example.com/',
    'https://api。example。com/',
    'https://api.example.com /',
    ' https://api.example.com/',
    'https://api.example.com/\n',
    'https://api.exa\tmple.com/',
    'https://api.example.com/é',
    'https://api.example.com/a/../b',
    'https://api.example.com/a/./b',
    'https://api.example.com/..',
    'https://api.example.com/%2e%2e/b',
    'https://api.example.com/a\\b',
    'http://2130706433/',
    'http://0x7f.1/',
    'http://0177.0.0.1/',
    'http://127.1/',
    'http://127.0.0.1./',
    'http://[0:0:0:0:0:0:0:1]/',
    'http://[::ffff:127.0.0.1]/',
    'http://[::1%25eth0]/',
    'http://[::1/',
    `https://a/${'x'.repeat(20_000)}`,
  ])('may be read in several ways: %j', (text) => {
    expect(plainUrl(text)).toBeNull();
    for (const wanted of [{ host: '*' }, 'https://api.example.com/', { scheme: 'https' }, { path: '/' }])
      expect(truthOf(wanted, text)).toBe('unknown');
  });
});

describe('a matcher of URLs', () => {
  test.each([
    ['https://api.example.com/v1', 'https://api.example.com/v1', 'holds'],
    ['https://api.example.com/v1', 'https://api.example.com/v1/', 'holds'],
    ['https://api.example.com/v1/', 'https://api.example.com/v1', 'holds'],
    ['https://api.example.com/v1', 'https://api.example.com:443/v1/items?x=/v2', 'holds'],
    ['https://api.example.com/v1', 'https://api.example.com/v12', 'fails'],
    ['https://api.example.com/v1', 'https://api.example.com/', 'fails'],
    ['https://api.example.com/v1', 'https://api.example.com/V1/x', 'unknown'],
    ['https://api.example.com/v1', 'https://api.example.com/v1/a%2f..', 'unknown'],
    ['https://api.example.com/v1', 'http://api.example.com/v1', 'fails'],
    ['https://api.example.com/v1', 'https://api.example.com:8443/v1', 'fails'],
    ['https://api.example.com/v1', 'https://evil.test/v1', 'fails'],
    ['https://api.example.com', 'https://api.example.com/any//thing', 'unknown'],
    ['https://*.example.com', 'https://a.b.example.com/', 'holds'],
    ['https://*.example.com', 'https://example.com/', 'fails'],
    ['https://*.example.com', 'https://api.example.com.evil.test/', 'fails'],
    [['https://a/x', 'http://b:81'], 'https://a/x/y', 'holds'],
    [['https://a/x', 'http://b:81'], 'http://b:81/y', 'holds'],
    [['https://a/x', 'http://b:81'], 'http://b/y', 'fails'],
    [['https://a/x', 'http://b:81'], 'https://a/X', 'unknown'],
  ])('%j and %j: %s', (wanted, text, truth) => {
    expect(truthOf(wanted, text)).toBe(truth);
  });

  test.each([
    [{ host: 'a' }, 'https://a/', 'holds'],
    [{ host: 'a' }, 'wss://a/', 'holds'],
    [{ host: 'a' }, 'https://b/', 'fails'],
    // What is not said is what is usual; of the rest it cannot tell, so that it allows none of it and denies all of it.
    [{ host: 'a' }, 'http://a/', 'unknown'],
    [{ host: 'a' }, 'https://a:8443/', 'unknown'],
    [{ host: 'a' }, 'http://b/', 'fails'],
    [{ host: 'a', scheme: 'http' }, 'http://a/', 'holds'],
    [{ host: 'a', scheme: 'http' }, 'https://a/', 'fails'],
    [{ host: 'a', scheme: ['http', 'https'] }, 'https://a/', 'holds'],
    [{ host: 'a', port: 8443 }, 'https://a:8443/', 'holds'],
    [{ host: 'a', port: [8443, 443] }, 'https://a/', 'holds'],
    [{ host: 'a', port: 8443 }, 'https://a/', 'fails'],
    [{ host: 'a', path: ['/x', '/y/'] }, 'https://a/y', 'holds'],
    [{ host: 'a', path: '/x' }, 'https://a/', 'fails'],
    [{ host: 'a', path: '/' }, 'https://a/b', 'holds'],
    [{ host: 'a', path: '/X' }, 'https://a/x', 'unknown'],
    [{ path: '/x' }, 'https://any/x', 'holds'],
    [{ host: ['[::1]', '127.0.0.1'] }, 'https://[::1]/', 'holds'],
    [{ host: 'a' }, 7, 'unknown'],
  ])('%j and %j: %s', (wanted, text, truth) => {
    expect(truthOf(wanted, text)).toBe(truth);
  });

  test.each(['https://a/x?q', 'https://a/x#f', 'https://a/x//y', 'https://A/../b', 'a', 'https://u@a/'])(
    'what is no plain URL in a policy matches nothing: %s',
    (text) => {
      expect(urlForm(text)).toBeNull();
      expect(truthOf(text, text)).toBe('unknown');
    },
  );

  test('one that cannot be told beside one that can', () => {
    expect(truthOf(['nonsense', 'https://a'], 'https://a/')).toBe('holds');
    expect(truthOf(['https://a', 'nonsense'], 'https://b/')).toBe('unknown');
  });
});
