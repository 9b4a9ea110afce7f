import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { BodyBinding, OperationBinding, Place, Style } from '../../../src/adapters/tools/openapi-binding.ts';
import { buildRequest } from '../../../src/adapters/tools/openapi-request.ts';

const none = { headers: {}, query: {} };

function operation(
  place: Place,
  style: Style,
  explode: boolean,
  more: Partial<OperationBinding> = {},
): OperationBinding {
  return {
    method: 'GET',
    server: 'https://api.example/v1',
    path: place === 'path' ? '/c/{color}/end' : '/c',
    parameters: [{ argument: 'color', in: place, name: 'color', style, explode, reserved: false, json: false }],
    body: null,
    accept: '*/*',
    output: { type: 'unchecked', reason: '' },
    ...more,
  };
}

const request = (binding: OperationBinding, input: Record<string, unknown>) =>
  buildRequest(binding, input, none, 'trn_1');

const LIST = ['blue', 'black', 'brown'];
const MAP = { R: 100, G: 200, B: 150 };

// The table of OpenAPI 3.1.1 §4.8.12.4, which is that of RFC 6570.
test.each([
  ['matrix', false, 'blue', ';color=blue'],
  ['matrix', false, LIST, ';color=blue,black,brown'],
  ['matrix', false, MAP, ';color=R,100,G,200,B,150'],
  ['matrix', true, LIST, ';color=blue;color=black;color=brown'],
  ['matrix', true, MAP, ';R=100;G=200;B=150'],
  ['label', false, 'blue', '.blue'],
  ['label', false, LIST, '.blue,black,brown'],
  ['label', false, MAP, '.R,100,G,200,B,150'],
  ['label', true, LIST, '.blue.black.brown'],
  ['label', true, MAP, '.R=100.G=200.B=150'],
  ['simple', false, 'blue', 'blue'],
  ['simple', false, LIST, 'blue,black,brown'],
  ['simple', false, MAP, 'R,100,G,200,B,150'],
  ['simple', true, LIST, 'blue,black,brown'],
  ['simple', true, MAP, 'R=100,G=200,B=150'],
] as const)('in a path, style %s with explode %s makes of %j: %s', (style, explode, value, text) => {
  expect(request(operation('path', style, explode), { color: value }).url.href).toBe(
    `https://api.example/v1/c/${text}/end`,
  );
});

test.each([
  ['form', false, '', 'color='],
  ['form', false, 'blue', 'color=blue'],
  ['form', false, LIST, 'color=blue,black,brown'],
  ['form', false, MAP, 'color=R,100,G,200,B,150'],
  ['form', true, LIST, 'color=blue&color=black&color=brown'],
  ['form', true, MAP, 'R=100&G=200&B=150'],
  ['spaceDelimited', false, LIST, 'color=blue%20black%20brown'],
  ['spaceDelimited', false, MAP, 'color=R%20100%20G%20200%20B%20150'],
  ['pipeDelimited', false, LIST, 'color=blue%7Cblack%7Cbrown'],
  ['pipeDelimited', false, MAP, 'color=R%7C100%7CG%7C200%7CB%7C150'],
  ['deepObject', true, MAP, 'color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150'],
  ['deepObject', true, { a: { b: [1, 2] } }, 'color%5Ba%5D%5Bb%5D=1&color%5Ba%5D%5Bb%5D=2'],
  ['form', true, [], ''],
  ['form', true, null, ''],
  ['form', true, [1, null, true], 'color=1&color=true'],
] as const)('in a query, style %s with explode %s makes of %j: %s', (style, explode, value, text) => {
  expect(request(operation('query', style, explode), { color: value }).url.search).toBe(text === '' ? '' : `?${text}`);
});

test.each([
  [false, LIST, 'blue,black,brown'],
  [false, MAP, 'R,100,G,200,B,150'],
  [true, MAP, 'R=100,G=200,B=150'],
  [false, 'a b%2F', 'a b%2F'],
])('in a header, explode %s makes of %j: %s', (explode, value, text) => {
  expect(request(operation('header', 'simple', explode), { color: value }).headers['color']).toBe(text);
});

test('cookies are pairs whose values cannot begin another', () => {
  expect(request(operation('cookie', 'form', true), { color: 'blue; admin=1' }).headers['cookie']).toBe(
    'color=blue%3B%20admin%3D1',
  );
});

test('a value of JSON is written as JSON, and reserved characters stay where the document allows it, but for those that part', () => {
  const [parameter] = operation('query', 'form', true).parameters;
  const one = (more: object) => operation('query', 'form', true, { parameters: [{ ...parameter!, ...more }] });
  expect(request(one({ json: true }), { color: { a: ['ü'] } }).url.search).toBe(
    '?color=%7B%22a%22%3A%5B%22%C3%BC%22%5D%7D',
  );
  expect(request(one({ reserved: true }), { color: 'a/b?c:d&admin=1#x+%20' }).url.search).toBe(
    '?color=a/b?c:d%26admin%3D1%23x%2B%2520',
  );
});

test('lists within lists have no form and are refused', () => {
  expect(() => request(operation('query', 'form', true), { color: [[1]] })).toThrow(
    /`color` holds lists or objects within/,
  );
});

test.each([
  '..',
  '.',
  '../admin',
  'a/../../admin',
  '..\\admin',
  '%2e%2e',
  '%2E%2e%2Fadmin',
  '%252e%252e/x',
  '..;/admin',
  'a\u0000',
  'a\nb',
  '%00',
  '',
])('the path value %j is refused', (value) => {
  expect(() => request(operation('path', 'simple', false), { color: value })).toThrow(/the argument `color`/);
});

test('pieces that make a step only together are refused too', () => {
  const pieces = operation('path', 'label', true);
  expect(() => request(pieces, { color: ['', ''] })).toThrow(/elsewhere than to the path of the operation/);
  const [parameter] = operation('path', 'simple', false).parameters;
  const two = operation('path', 'simple', false, {
    path: '/c/{color}.{ext}',
    parameters: [parameter!, { ...parameter!, argument: 'ext', name: 'ext' }],
  });
  expect(() => request(two, { color: '.', ext: 'x' })).toThrow(/has a step/);
});

const lengthy = fc.string({ unit: 'binary', maxLength: 40 });
const nasty = fc
  .array(
    fc.constantFrom(
      '.',
      '..',
      '/',
      '\\',
      '%',
      '2e',
      '%2f',
      '?',
      '#',
      '@',
      ':',
      '//',
      'evil.example',
      '\r\n',
      'ü',
      '\0',
    ),
    { maxLength: 8 },
  )
  .map((parts) => parts.join(''));

test('whatever the values are: same origin, same segments, same values, or nothing is sent', () => {
  const [parameter] = operation('path', 'simple', false).parameters;
  const both = operation('path', 'simple', false, {
    parameters: [parameter!, { ...parameter!, argument: 'q', name: 'q', in: 'query', style: 'form', explode: true }],
  });
  let sent = 0;
  fc.assert(
    fc.property(fc.oneof(lengthy, nasty), fc.oneof(lengthy, nasty), (color, q) => {
      let url: URL;
      try {
        ({ url } = request(both, { color, q }));
      } catch (error) {
        expect((error as { code: string }).code).toBe('invalid_input');
        return;
      }
      sent += 1;
      expect(url.origin).toBe('https://api.example');
      const segments = url.pathname.split('/');
      expect([segments.length, segments[1], segments[2], segments[4]]).toEqual([5, 'v1', 'c', 'end']);
      expect(decodeURIComponent(segments[3] ?? '')).toBe(color);
      expect([...url.searchParams]).toEqual([['q', q]]);
      expect(url.hash).toBe('');
    }),
    { numRuns: 3_000 },
  );
  expect(sent).toBeGreaterThan(500);
});

test.each([['a\r\nX-Admin: 1'], ['a\nb'], ['a\0'], ['ü'], ['a\x7f']])('the header value %j is refused', (value) => {
  expect(() => request(operation('header', 'simple', false), { color: value })).toThrow(/no header can carry/);
});

test('what the operator sends is held to the same, and says which header it is but not its value', () => {
  const build = () =>
    buildRequest(operation('query', 'form', true), {}, { headers: { 'x-key': 'se\ncret' }, query: {} }, 'trn_1');
  expect(build).toThrow(/the header `x-key` of the source/);
  expect(build).not.toThrow(/cret/);
});

const body = (form: BodyBinding['form'], media_type: string, fields: BodyBinding['fields'] = []) =>
  operation('query', 'form', true, { method: 'POST', body: { form, media_type, fields } });

test('bodies: JSON, form, text', () => {
  const json = request(body('json', 'application/merge-patch+json'), { body: { a: [1, null] } });
  expect([json.body, json.headers['content-type']]).toEqual(['{"a":[1,null]}', 'application/merge-patch+json']);
  const form = body('urlencoded', 'application/x-www-form-urlencoded', [
    {
      name: 'tags',
      writing: { name: 'tags', style: 'pipeDelimited', explode: false, reserved: false, json: false },
      media_type: null,
    },
    {
      name: 'deep',
      writing: { name: 'deep', style: 'deepObject', explode: true, reserved: false, json: false },
      media_type: null,
    },
  ]);
  const written = request(form, {
    body: { a: 'x&y=z', list: [1, 2], o: { k: 'v' }, tags: ['p', 'q'], deep: { d: 1 }, no: null },
  });
  expect(written.body).toBe('a=x%26y%3Dz&list=1&list=2&o=%7B%22k%22%3A%22v%22%7D&tags=p%7Cq&deep%5Bd%5D=1');
  expect([...new URLSearchParams(written.body ?? '')].slice(0, 4)).toEqual([
    ['a', 'x&y=z'],
    ['list', '1'],
    ['list', '2'],
    ['o', '{"k":"v"}'],
  ]);
  expect(request(body('text', 'text/plain'), { body: 'hello' }).body).toBe('hello');
  expect(() => request(body('text', 'text/plain'), { body: 1 })).toThrow(/must be a text/);
  expect(() => request(body('urlencoded', 'x'), { body: [] })).toThrow(/must be an object/);
});

test('a multipart body is read back as it was meant, whatever names and values are', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.dictionary(fc.string({ minLength: 1, maxLength: 10 }), fc.string({ unit: 'grapheme', maxLength: 20 }), {
        maxKeys: 4,
      }),
      async (fields) => {
        const sent = request(body('multipart', 'multipart/form-data'), { body: fields });
        const read = await new Response(sent.body, {
          headers: { 'content-type': sent.headers['content-type'] ?? '' },
        }).formData();
        expect(Object.fromEntries([...read])).toEqual({ ...fields });
      },
    ),
    { numRuns: 200 },
  );
  const sent = request(
    body('multipart', 'multipart/form-data', [{ name: 'doc', writing: null, media_type: 'text/csv' }]),
    {
      body: { 'a"\r\nX: y': 'v', o: { k: 1 }, doc: 'x,y', list: ['p', 'q'] },
    },
  );
  expect(sent.body).toContain('name="a%22%0D%0AX: y"\r\n\r\nv\r\n');
  expect(sent.body).toContain('name="o"\r\nContent-Type: application/json\r\n\r\n{"k":1}\r\n');
  expect(sent.body).toContain('name="doc"\r\nContent-Type: text/csv\r\n\r\nx,y\r\n');
  expect(sent.body?.match(/name="list"/g)).toHaveLength(2);
});

test('the idempotency key goes with every method that is not safe', () => {
  const key = (method: string) =>
    request({ ...operation('query', 'form', true), method }, {}).headers['idempotency-key'];
  expect(['GET', 'HEAD', 'OPTIONS'].map(key)).toEqual([undefined, undefined, undefined]);
  expect(['POST', 'PUT', 'PATCH', 'DELETE'].map(key)).toEqual(['trn_1', 'trn_1', 'trn_1', 'trn_1']);
});
