import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { approvalPreview, type PreviewInput, visible } from '../../src/core/approval-preview.ts';

const preview = (members: Partial<PreviewInput> = {}) =>
  approvalPreview({
    tool: 'fs.write',
    risk: 'write',
    principal: 'agent:x',
    agent: null,
    reason: null,
    arguments: '{}',
    last_approved: null,
    ...members,
  });
const linesOf = (given: unknown, last: unknown = null) =>
  preview({ arguments: JSON.stringify(given), last_approved: last === null ? null : JSON.stringify(last) })
    .text.split('\n')
    .slice(2);

describe('the preview of a call', () => {
  test('without arguments', () => {
    expect(preview().text).toBe('tool       fs.write (write)\ncaller     agent:x\narguments  none');
  });

  test('with agent, reason and arguments, each on lines of its own', () => {
    const shown = preview({ agent: 'triage', reason: 'it writes', arguments: '{"list":[1,{"a":"b"}],"path":"/a"}' });
    expect(shown.text).toBe(
      [
        'tool       fs.write (write)',
        'caller     agent:x, agent triage',
        'reason     it writes',
        'arguments',
        '  list: [',
        '    1,',
        '    {',
        '      "a": "b"',
        '    }',
        '  ]',
        '  path: "/a"',
      ].join('\n'),
    );
  });

  test('its digest is that of the text in a domain of its own', () => {
    const { text, digest } = preview({ reason: 'r' });
    expect(digest).toBe(createHash('sha256').update(`proctor/approval_preview/1\n${text}`).digest('hex'));
  });

  test('it is long from 4,001 characters on', () => {
    const room = 4_000 - preview({ reason: 'x' }).text.length;
    expect(preview({ reason: 'x'.repeat(room + 1) })).toMatchObject({ long: false });
    expect(preview({ reason: 'x'.repeat(room + 2) })).toMatchObject({ long: true });
  });
});

describe('what differs from the last approved call', () => {
  test('equal, changed, new and gone', () => {
    expect(
      linesOf({ same: { a: 1, b: 2 }, changed: 2, added: 3 }, { same: { b: 2, a: 1 }, changed: [1], gone: 4 }),
    ).toEqual([
      'arguments',
      '  same: {',
      '    "a": 1,',
      '    "b": 2',
      '  }',
      '  changed: 2   (last approved: [1])',
      '  added: 3   (new: the last approved call had none)',
      '  (without gone, which the last approved call had)',
    ]);
  });

  test('a name that every object inherits is new, and gone, like any other', () => {
    expect(linesOf({ constructor: 1 }, {})).toEqual([
      'arguments',
      '  constructor: 1   (new: the last approved call had none)',
    ]);
    expect(linesOf({}, { constructor: 1 })).toEqual([
      'arguments  none',
      '  (without constructor, which the last approved call had)',
    ]);
  });

  test('the last value is cut after 120 characters', () => {
    const last = (length: number) => linesOf({ a: 1 }, { a: 'x'.repeat(length) })[1];
    expect(last(118)).toBe(`  a: 1   (last approved: "${'x'.repeat(118)}")`);
    expect(last(119)).toBe(`  a: 1   (last approved: "${'x'.repeat(119)}…)`);
  });
});

describe('nothing hides', () => {
  test.each([
    ['controls', 'a\u0007b', 'a\\u{7}b'],
    ['a line end', 'a\nb', 'a\\u{a}b'],
    ['bidi', 'a\u202eb', 'a\\u{202e}b'],
    ['zero width', 'a\u200bb', 'a\\u{200b}b'],
    ['line separators', 'a\u2028\u2029b', 'a\\u{2028}\\u{2029}b'],
    ['variation selectors', 'a\ufe00\ufe0f\u{e0100}\u{e01ef}', 'a\\u{fe00}\\u{fe0f}\\u{e0100}\\u{e01ef}'],
    ['fillers', '\u115f\u1160\u3164\uffa0', '\\u{115f}\\u{1160}\\u{3164}\\u{ffa0}'],
    ['tags', '\u{e0041}', '\\u{e0041}'],
    ['nothing', 'aä漢 ~', 'aä漢 ~'],
  ])('%s', (_, text, shown) => {
    expect(visible(text)).toBe(shown);
    expect(preview({ tool: text }).text.split('\n')[0]).toBe(`tool       ${shown} (write)`);
  });

  test('line ends stay where they are asked for', () => {
    expect(visible('a\nb\r\u202e', true)).toBe('a\nb\\u{d}\\u{202e}');
  });

  test.each([
    ['Cyrillic', 'pаypal', 'p\\u{430}ypal'],
    ['Greek', 'gοοgle', 'g\\u{3bf}\\u{3bf}gle'],
    ['Armenian', 'hօst', 'h\\u{585}st'],
    ['Cherokee', 'mᎪn', 'm\\u{13aa}n'],
    ['Coptic', 'cⲟde', 'c\\u{2c9f}de'],
    ['Lisu', 'aꓐc', 'a\\u{a4d0}c'],
    ['a word with a mark and digits', 'é1а', 'é1\\u{430}'],
    ['a word of the other alphabet by itself', 'привет paypal', 'привет paypal'],
    ['words that only touch', 'a-я', 'a-я'],
  ])('%s letters in a Latin word', (_, text, shown) => {
    expect(preview({ principal: text }).text.split('\n')[1]).toBe(`caller     ${shown}`);
  });

  test('in every place that is shown', () => {
    const shown = preview({
      agent: 'x\u200b',
      reason: 'y\u200b',
      arguments: '{"n\u200b":"v\u200b","o":1}',
      last_approved: '{"n\u200b":"w\u200b","o":1,"p\u200b":1}',
    });
    expect(shown.text.split('\n').slice(1)).toEqual([
      'caller     agent:x, agent x\\u{200b}',
      'reason     y\\u{200b}',
      'arguments',
      '  n\\u{200b}: "v\\u{200b}"   (last approved: "w\\u{200b}")',
      '  o: 1',
      '  (without p\\u{200b}, which the last approved call had)',
    ]);
  });
});
