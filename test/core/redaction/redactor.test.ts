import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Redactor } from '../../../src/core/redaction/redactor.ts';
import { FORMS } from './forms.ts';

const SECRETS: Readonly<Record<string, string>> = {
  WORD: 'pässwört-1234',
  MARKUP: 'a/b"c<d>',
  PIN: '20261122',
  PHRASE: 'Correct horse, battery staple',
  SLASHED: 'C:\\temp\\ünder/%41&amp;+=',
  KEY: 'sk-ant_0123456789abcdefABCDEF-zZ',
};

const redactor = redactorOf(SECRETS);

function redactorOf(secrets: Readonly<Record<string, string>>): Redactor {
  return new Redactor(Object.entries(secrets).map(([name, value]) => ({ value, marker: `[secret ${name}]` })));
}

describe.each(Object.entries(SECRETS))('the secret %s', (name, secret) => {
  test.each(FORMS.map((form) => [form.name, form] as const))('is found %s', (_, form) => {
    const written = form.write(secret);
    expect(redactor.text(written)).toContain(`[secret ${name}]`);
    const around = `before ${written} after`;
    const clean = redactor.text(around);
    expect(clean).toContain(`[secret ${name}]`);
    expect([clean.startsWith('before '), clean.endsWith(' after')]).toEqual([true, true]);
    expect(redactor.text(clean)).toBe(clean);
    expect(redactor.json({ deep: [{ [written]: written }] })).not.toEqual({ deep: [{ [written]: written }] });
  });
});

test('what stands around a form stays to the letter', () => {
  expect(redactor.text('{"k":"p\\u00e4ssw\\u00f6rt-1234","n":1}')).toBe('{"k":"[secret WORD]","n":1}');
  expect(redactor.text('?a=1&k=p%C3%A4ssw%C3%B6rt-1234&b=%20')).toBe('?a=1&k=[secret WORD]&b=%20');
  expect(redactor.text('x &#228; 20261122, 20261122; \\u0032\\n')).toBe(
    'x &#228; [secret PIN], [secret PIN]; \\u0032\\n',
  );
  expect(redactor.text('Basic dXNlcjoyMDI2MTEyMg==, ok')).toBe('Basic dXNlcj[secret PIN]==, ok');
  expect(redactor.text('a0x3230323631313232ff')).toBe('a0x[secret PIN]ff');
});

test('a value without a secret is the same value', () => {
  const value = {
    text: 'an ordinary\ntext with %41 and \\u0041',
    list: [1, true, null, 'dGVzdGluZyB0ZXN0aW5n'],
    n: 2026,
  };
  expect(redactor.json(value)).toBe(value);
});

test('numbers that are a secret, or hold one, become its marker', () => {
  const zeros = redactorOf({ CODE: '007.250', BIG: '12345678901234567890' });
  expect(redactor.json({ a: 20261122, b: [1202611223, 2026], c: 20261122.5 })).toEqual({
    a: '[secret PIN]',
    b: ['1[secret PIN]3', 2026],
    c: '[secret PIN].5',
  });
  expect(zeros.json([7.25, Number('12345678901234567890'), 7])).toEqual(['[secret CODE]', '[secret BIG]', 7]);
});

test('members that were the same secret stay apart', () => {
  const members = { 'PÄSSWÖRT-1234': 2, 'pässwört-1234': 1, other: 3, 'Pässwört-1234': 4 };
  expect(redactor.json(members)).toEqual({
    '[secret WORD]': 2,
    '[secret WORD] (2)': 1,
    other: 3,
    '[secret WORD] (3)': 4,
  });
});

test('secrets that overlap are replaced together, by the name of the longer', () => {
  const two = redactorOf({ FIRST: 'alpha-beta', SECOND: 'beta-gamma-delta' });
  expect(two.text('alpha-beta-gamma-delta')).toBe('[secret SECOND]');
  expect(two.text('alpha-beta beta-gamma-delta')).toBe('[secret FIRST] [secret SECOND]');
  const inner = redactorOf({ INNER: 'middle-one', OUTER: 'the middle-one and more' });
  expect(inner.text('the middle-one and more, middle-one')).toBe('[secret OUTER], [secret INNER]');
});

test('secrets side by side are told one by one', () => {
  const two = redactorOf({ FIRST: 'alpha-beta', SECOND: 'gamma-delta' });
  expect(two.text('alpha-betagamma-delta')).toBe('[secret FIRST][secret SECOND]');
});

test('of a chain of three, the longest gives the name, wherever it stands', () => {
  const chain = redactorOf({ A: 'abcdefghij', B: 'ijklmnopqrs', C: 'rstuvwxyz012' });
  expect(chain.text('far behind: abcdefghijklmnopqrstuvwxyz012')).toBe('far behind: [secret C]');
});

test('a secret that is another one encoded has its own name', () => {
  const inner = 'first-secret';
  const both = redactorOf({ INNER: inner, OUTER: Buffer.from(inner).toString('base64') });
  expect(both.text(`${Buffer.from(inner).toString('base64')} ${inner}`)).toBe('[secret OUTER] [secret INNER]');
});

test('a marker that would tell a secret is another one', () => {
  const told = redactorOf({ DATABASE: 'database' });
  expect(told.text('the database')).toBe('the [secret]');
  expect(redactorOf({ A: 'secret', B: '[redacted]' }).text('secret!')).toBe('***!');
});

test('pieces of a secret at the edge of a cut are taken out too', () => {
  expect(redactor.text('got "pässwört-…", wanted')).toBe('got "[secret WORD]…", wanted');
  expect(redactor.text('…swört-1234 is wrong')).toBe('…[secret WORD] is wrong');
  expect(redactor.text('päss… and …1234 tell little')).toBe('päss… and …1234 tell little');
});

test('pieces of long secrets are found by what stands next to the cut', () => {
  const long = Array.from({ length: 90 }, (_, index) => `${index}-part`).join('.');
  const own = redactorOf({ LONG: long });
  expect(own.text(`<${long.slice(0, 200)}…>`)).toBe('<[secret LONG]…>');
  expect(own.text(`<…${long.slice(-200)}>`)).toBe('<…[secret LONG]>');
  expect(own.text(`${'x'.repeat(300)}${long.slice(0, 9)}…`)).toBe(`${'x'.repeat(300)}[secret LONG]…`);
  expect(own.text(`x…${long.slice(-9)}`)).toBe('x…[secret LONG]');
});

test('a text of nothing but ellipses is not taken for an excerpt at each of them', () => {
  const many = '…'.repeat(1_000);
  expect(redactor.text(`${many.slice(1)}pässwört…`)).toBe(`${many.slice(1)}[secret WORD]…`);
  expect(redactor.text(`${many}pässwört…`)).toBe(`${many}pässwört…`);
});

test('a secret that is no number hides none', () => {
  expect(redactor.json([Number.NaN, null, undefined, true])).toEqual([Number.NaN, null, undefined, true]);
});

test('where every marker would tell a secret there is none', () => {
  const all = redactorOf({ X: '[secret]', Y: '[redacted]', Z: 'secret-x', W: 'x-y-z-w', SECRET: '[secret W]' });
  expect(all.text('a x-y-z-w b')).toBe('a *** b');
});

test('a piece is long enough with six characters, at every cut', () => {
  expect(redactor.text('pässwö… pässw… x… pässwört-123…')).toBe('[secret WORD]… pässw… x… [secret WORD]…');
  expect(redactor.text('…t-1234, …-1234 …ässwört-1234…pässwö…')).toBe(
    '…[secret WORD], …-1234 …[secret WORD]…[secret WORD]…',
  );
});

test('several that overlap have the name of the longest of all', () => {
  const chain = redactorOf({ A: 'abcdefghijkl', B: 'klmnop', C: 'opqrstuv' });
  expect(chain.text('-abcdefghijklmnopqrstuv-')).toBe('-[secret A]-');
  const late = redactorOf({ FIRST: 'alpha-beta', SECOND: 'beta-gamma-delta' });
  expect(late.text('far behind: alpha-beta-gamma-delta')).toBe('far behind: [secret SECOND]');
});

test('a text whose markers make matches again and again is replaced as a whole', () => {
  const chain = redactorOf({ A: 'first-secret', B: 'a[secret' });
  expect(chain.text('aa first-secret')).toBe('aa [secret A]');
  expect(chain.text('aafirst-secret')).toBe('[secret B] B] A]');
  expect(chain.text(`${'a'.repeat(4)}first-secret`)).toBe('[secret]');
  expect(chain.text('aaafirst-secret')).toBe('[secret B] B] B] A]');
});

test('encodings are looked through up to five layers', () => {
  const layers = (count: number) => {
    let text = 'pässwört-1234';
    for (let layer = 0; layer < count; layer += 1) text = encodeURIComponent(text);
    return text;
  };
  expect([0, 1, 2, 3, 4, 5].map((count) => redactor.text(layers(count)))).toEqual(Array(6).fill('[secret WORD]'));
  expect(redactor.text(layers(6))).toBe(layers(6));
});

test('a secret with spaces is found however it was wrapped', () => {
  expect(redactor.text('Correct horse,\n  battery\nstaple')).toBe('[secret PHRASE]');
  expect(redactor.text('Correct+horse%2C+battery++staple!')).toBe('[secret PHRASE]!');
});

test('one more secret can be hidden for a while', () => {
  const more = redactor.with('prt_0123456789', '[gateway token]');
  expect(more.text('prt_0123456789 and 20261122')).toBe('[gateway token] and [secret PIN]');
  expect(redactor.text('prt_0123456789')).toBe('prt_0123456789');
});

test('adversarial texts end soon: what is decoded of a text is bounded by its length', () => {
  for (const piece of ['a', '%41', '\\u0041', '&#65;', '5a', 'JTQx', '\\\\', '%25', '\n', 'ab…'])
    expect(redactor.text(piece.repeat(1_000))).toBe(piece.repeat(1_000));
});

describe('whatever the secrets are', () => {
  const secret = fc.oneof(
    fc.string({ minLength: 8, maxLength: 24, unit: 'grapheme-ascii' }),
    fc.string({ minLength: 8, maxLength: 24, unit: fc.constantFrom(...'aB3äß"\\/%&<+= -_') }),
  );
  const distinct = secret.filter((text) => new Set(text.trim().toLowerCase()).size >= 5 && text.trim().length >= 8);
  const word = fc.constantFrom(
    '',
    ' ',
    'and ',
    '{"k":"',
    '"}',
    '<b>',
    'x=1&y=',
    'Basic ',
    'responsibility ',
    '…',
    'ü ',
    '[secret ',
  );
  const form = fc.constantFrom(...FORMS.filter(({ name }) => !name.startsWith('in two lines')));

  test('redacting twice is redacting once, and no form is left', () => {
    fc.assert(
      fc.property(
        fc.array(distinct, { minLength: 1, maxLength: 3 }),
        fc.array(fc.tuple(word, form), { maxLength: 4 }),
        (values, parts) => {
          const own = redactorOf(Object.fromEntries(values.map((value, index) => [`S${index}`, value])));
          const text = parts
            .map(([before, { write }], index) => `${before}${write(values[index % values.length] ?? '')} `)
            .join('');
          const clean = own.text(text);
          expect(own.text(clean)).toBe(clean);
          for (const value of values) for (const { write } of FORMS) expect(clean.includes(write(value))).toBe(false);
        },
      ),
      { numRuns: 60 },
    );
  });

  test('a text without any form of them stays as it is', () => {
    const ordinary = fc.array(fc.oneof(word, fc.lorem(), fc.json(), fc.webUrl(), fc.base64String(), fc.uuid()), {
      maxLength: 6,
    });
    fc.assert(
      fc.property(ordinary, (parts) => {
        const text = parts.join('');
        expect(redactor.text(text)).toBe(text);
        expect(redactor.json({ [text]: [text] })).toEqual({ [text]: [text] });
      }),
      { numRuns: 60 },
    );
  });

  test('JSON stays JSON of the same shape', () => {
    fc.assert(
      fc.property(fc.jsonValue(), distinct, (value, own) => {
        const clean = redactorOf({ OWN: own }).json(value);
        expect(shape(clean)).toBe(shape(value));
      }),
      { numRuns: 60 },
    );
  });
});

/** The nesting of a value, without its texts and numbers. */
function shape(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(shape).join()}]`;
  if (typeof value !== 'object' || value === null) return '.';
  return `{${Object.values(value).map(shape).join()}}`;
}
