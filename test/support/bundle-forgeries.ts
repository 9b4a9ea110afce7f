import { headLine, lineOf } from '../../src/store/sqlite/bundle-format.ts';

/** Damage at a place of a bundle; `byte` is from 1 to 254. */
export const DAMAGES: Readonly<Record<string, (bytes: Buffer, place: number, byte: number) => Buffer>> = {
  'a bit flipped': (bytes, place, byte) => {
    const copy = Buffer.from(bytes);
    copy[place] = (copy[place] ?? 0) ^ (1 << (byte % 8));
    return copy;
  },
  'a byte put in': (bytes, place, byte) =>
    Buffer.concat([bytes.subarray(0, place), Buffer.of(byte), bytes.subarray(place)]),
  'a byte taken out': (bytes, place) => Buffer.concat([bytes.subarray(0, place), bytes.subarray(place + 1)]),
  'cut off': (bytes, place) => bytes.subarray(0, place),
};

/** Rewrites of lines by somebody who makes the digest anew. */
export const REWRITES: Readonly<Record<string, (lines: Buffer[]) => (Buffer | string)[]>> = {
  'a space after a comma': (lines) => replaced(lines, 'execution', (text) => text.replace(',', ', ')),
  'a line end of two bytes': (lines) => replaced(lines, 'execution', (text) => text.replace('\n', '\r\n')),
  'an empty line': (lines) => [...lines.slice(0, 3), '\n', ...lines.slice(3)],
  'a byte order mark': (lines) => ['\ufeff', ...lines],
  'a letter written as an escape': (lines) =>
    replaced(lines, 'execution', (text) => text.replace('c0001', '\\u0063\u00300001'.replace('\u0030', ''))),
  'a number in another form': (lines) =>
    replaced(lines, 'execution', (text) => text.replace('"repeat":1', '"repeat":1.0')),
  'an exponent': (lines) => replaced(lines, 'execution', (text) => text.replace('"repeat":1', '"repeat":1e0')),
  'a key twice': (lines) => replaced(lines, 'execution', (text) => text.replace('"repeat":1', '"repeat":1,"repeat":1')),
  'keys in another order': (lines) => replaced(lines, 'run_head', reordered),
  'a column that is not ours': (lines) =>
    replaced(lines, 'execution', (text) => text.replace('"repeat"', '"other":1,"repeat"')),
  'a column left out': (lines) => replaced(lines, 'execution', (text) => text.replace('"cluster":null,', '')),
  'a list for a value': (lines) =>
    replaced(lines, 'execution', (text) => text.replace('"cluster":null', '"cluster":[]')),
  'true for a value': (lines) =>
    replaced(lines, 'execution', (text) => text.replace('"cluster":null', '"cluster":true')),
  'a row twice': (lines) => [...lines.slice(0, 5), lines[4] ?? '', ...lines.slice(5)],
  'two rows exchanged': (lines) => {
    const events = lines
      .map((line, index) => (line.toString().startsWith('["event"') ? index : -1))
      .filter((index) => index >= 0);
    const [first = 0, second = 0] = events;
    return lines.map((line, index) =>
      index === first ? (lines[second] ?? line) : index === second ? (lines[first] ?? line) : line,
    );
  },
  'another number in the outbox': (lines) =>
    replaced(lines, 'outbox', (text) => text.replace('"outbox_no":1', '"outbox_no":1001')),
  'a table that a bundle does not have': (lines) => [...lines, lineOf('blessing', { profile_id: 'known' })],
  'a migration': (lines) => [...lines, lineOf('migration', { version: 9, name: 'x', sha256: 'x', applied_at: 1 })],
  'a table that nobody has': (lines) => [...lines, lineOf('evil; drop table run', { x: 1 })],
  'a counter': (lines) => [...lines, lineOf('run_stat', { run_no: 1, kind: 'cost_micro_usd', n: 777 })],
  'the last instant': (lines) => [...lines, lineOf('meta', { key: 'other', value: 1 })],
  'a transition': (lines) => [
    ...lines,
    lineOf('state_transition', { machine: 'run', from_state: 'failed', to_state: 'completed' }),
  ],
  'a host': (lines) => replaced(lines, 'worker_session', (text) => text.replace('"host":""', '"host":"elsewhere"')),
  'rows of no run': (lines) => [...lines, lineOf('run_head', { run_no: 7, event_count: 0, event_hash: '' })],
  'a second run': (lines) =>
    lines.flatMap((line) =>
      line.toString().startsWith('["run",')
        ? [
            line,
            line
              .toString()
              .replace('"run_no":1', '"run_no":2')
              .replace(/"run_id":"run_/, '"run_id":"run_x'),
          ]
        : [line],
    ),
  'an artifact that nothing refers to': (lines) => [
    ...lines,
    lineOf('artifact', { bytes: 1, digest: '2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881' }),
    'x\n',
  ],
  'an artifact of a size that it does not have': (lines) => [
    ...lines,
    lineOf('artifact', { bytes: 2 ** 40, digest: 'x' }),
    'x\n',
  ],
  'an artifact of no size': (lines) => [...lines, lineOf('artifact', { bytes: -1, digest: 'x' }), 'x\n'],
  'another schema': (lines) => [headLine(3), ...lines.slice(1)],
  'a schema to come': (lines) => [headLine(999), ...lines.slice(1)],
  'a first line with more': (lines) => [lineOf('proctor/bundle/2', { schema: 4, more: 1 }), ...lines.slice(1)],
  'a list in depth': (lines) => [...lines, `["event",{"body":${'['.repeat(5_000_000)}`, '\n'],
  'a line without an end': (lines) => [...lines, `["event",{"body":"${'x'.repeat(30_000_000)}"}]\n`],
  'many members': (lines) => [
    ...lines,
    `["event",{${Array.from({ length: 1_000 }, (_, i) => `"k${i}":1`).join(',')}}]\n`,
  ],
};

/** Forms of the last line; the signature is over the statement, and the line is no part of what its digest covers. */
export const SEALS: Readonly<Record<string, (seal: Record<string, string>) => string>> = {
  'text behind the signature': (seal) => lineOf('bundle', { ...seal, signature: `${seal['signature']}!!!!` }),
  'a space in the signature': (seal) => lineOf('bundle', { ...seal, signature: ` ${seal['signature']}` }),
  'the signature for URLs': (seal) =>
    lineOf('bundle', {
      ...seal,
      signature: `${seal['signature']?.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')}`,
    }),
  'the signature without its padding': (seal) =>
    lineOf('bundle', { ...seal, signature: seal['signature']?.replace(/=+$/, '') }),
  'the signature with other spare bits': (seal) => {
    const text = seal['signature'] ?? '';
    const last = text.at(-3) ?? 'A';
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
    return lineOf('bundle', { ...seal, signature: `${text.slice(0, -3)}${alphabet[alphabet.indexOf(last) ^ 1]}==` });
  },
  'no signature': (seal) => lineOf('bundle', { ...seal, signature: null }),
  'no key': (seal) => lineOf('bundle', { ...seal, public_key: null }),
  'a line behind the key': (seal) => lineOf('bundle', { ...seal, public_key: `${seal['public_key']}\n` }),
  'a comment before the key': (seal) => lineOf('bundle', { ...seal, public_key: `hello\n${seal['public_key']}` }),
  'a statement in another form': (seal) => lineOf('bundle', { ...seal, statement: ` ${seal['statement']}` }),
  'a statement with more': (seal) =>
    lineOf('bundle', { ...seal, statement: seal['statement']?.replace('{', '{"a":1,') }),
  'a member more': (seal) => lineOf('bundle', { ...seal, more: 1 }),
  'no statement': () => '',
  'two statements': (seal) => `${lineOf('bundle', seal)}${lineOf('bundle', seal)}`,
  'bytes behind it': (seal) => `${lineOf('bundle', seal)}x`,
  'a newline behind it': (seal) => `${lineOf('bundle', seal)}\n`,
  'a SQLite file behind it': (seal) => `${lineOf('bundle', seal)}SQLite format 3\0${'\0'.repeat(4080)}`,
  'no newline': (seal) => lineOf('bundle', seal).trimEnd(),
};

function replaced(lines: readonly Buffer[], kind: string, edit: (text: string) => string): (Buffer | string)[] {
  const index = lines.findIndex((line) => line.toString().startsWith(`["${kind}",`));
  const before = lines[index]?.toString() ?? '';
  if (edit(before) === before) throw new Error(`no line of kind ${kind} is changed by this`);
  return lines.map((line, place) => (place === index ? edit(before) : line));
}

function reordered(text: string): string {
  const [kind, members] = JSON.parse(text) as [string, Record<string, unknown>];
  return `${JSON.stringify([kind, Object.fromEntries(Object.entries(members).reverse())])}\n`;
}
