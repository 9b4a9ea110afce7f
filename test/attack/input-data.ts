import { readFileSync } from 'node:fs';
import path from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { partsOf, resealed } from '../support/bundle-edit.ts';
import { CASES } from '../support/named-files.ts';
import { type Content, damaged, type Input, spoilt } from './input.ts';
import { SOUND_PROFILE } from './input-documents.ts';
import { randomFor } from './tally.ts';

const ROW = {
  id: 'a',
  task_type: 't',
  input: { x: 1 },
  expected: 'x',
  tags: ['t'],
  metadata: { k: 'v' },
  cluster: 'c',
};
const lines = (count: number, line: (index: number) => string) =>
  Array.from({ length: count }, (_, index) => line(index)).join('');
const rows = lines(5, (index) => `${JSON.stringify({ ...ROW, id: `c${index}` })}\n`);

/** Datasets of each format that are wrong in a way of their own. */
const ODD: Readonly<Record<string, Readonly<Record<string, () => string | Buffer>>>> = {
  jsonl: {
    'a line of 30 MB': () => `${JSON.stringify({ ...ROW, input: 'x'.repeat(30_000_000) })}\n`,
    'many wrong lines': () => '{]\n'.repeat(200_000),
    'empty lines': () => '\n'.repeat(1_000_000),
    'half a surrogate pair': () => '{"id":"a","input":"\\ud83d"}\n',
    'a number beyond all': () => '{"id":"a","input":1e400}\n',
    'a row in depth': () => `{"id":"a","input":${'['.repeat(50_000)}${']'.repeat(50_000)}}\n`,
    'a list': () => `[${rows.trim().replaceAll('\n', ',')}]`,
    'one id often': () => `${JSON.stringify(ROW)}\n`.repeat(50_000),
    'an id of a megabyte': () => `${JSON.stringify({ ...ROW, id: 'i'.repeat(1_000_000) })}\n`,
    'a hundred thousand tags': () =>
      `${JSON.stringify({ ...ROW, tags: Array.from({ length: 100_000 }, (_, i) => `t${i}`) })}\n`,
  },
  'jsonl.gz': {
    'not packed': () => rows,
    'cut off': () => gzipSync(rows).subarray(0, 40),
    'a false checksum': () => Buffer.concat([gzipSync(rows).subarray(0, -8), Buffer.alloc(8)]),
    'bytes behind it': () => Buffer.concat([gzipSync(rows), Buffer.from('more')]),
    'a bomb of one line': () => gzipSync(Buffer.alloc(400_000_000, 120)),
    'a bomb of many lines': () => gzipSync(Buffer.alloc(100_000_000, 10)),
  },
  json: {
    'a list in a list': () => `[[${rows.trim().replaceAll('\n', ',')}]]`,
    'a comma more': () => `[${rows.trim().replaceAll('\n', ',')},]`,
    'something behind it': () => `[${rows.trim().replaceAll('\n', ',')}] []`,
    numbers: () => '[1,2,3]',
    'a comment': () => `[/* x */${rows.trim().replaceAll('\n', ',')}]`,
    commas: () => `[${','.repeat(500_000)}]`,
  },
  csv: {
    'a quote that ends nowhere': () => `id,input\na,"${'x\n'.repeat(1_000_000)}`,
    'a quote within a field': () => 'id,input\na,x"y"z\n',
    'more fields than columns': () => 'id,input\na,b,c,d\n',
    'fewer fields than columns': () => 'id,input,expected\na\n',
    'a column twice': () => 'id,id,input\na,b,c\n',
    'a hundred thousand columns': () => `id,input,${lines(100_000, (i) => `k${i},`)}\na,b\n`,
    'a field of 30 MB': () => `id,input\na,"${'x'.repeat(30_000_000)}"\n`,
    'no header': () => 'a,b\nc,d\n',
    semicolons: () => 'id;input\na;b\n',
    'only quotes': () => '"'.repeat(1_000_001),
  },
  yaml: {
    'a text': () => 'just a text',
    'rows without ids': () => '- input: 1\n- input: 2\n',
    'a tag of a program': () => '- !!python/object/apply:os.system ["true"]\n',
    'anchors that grow': () => `- &a [x]\n${lines(12, (i) => `- &b${i} [${'*a, '.repeat(10)}]\n`)}`,
    tabs: () => '-\tid: a\n\tinput: b\n',
  },
};

/** Datasets of every format, recordings and calibration sets. */
export function dataInputs(seed: number): Input[] {
  const random = randomFor(seed, 'data');
  const datasets = Object.entries(ODD).flatMap(([ending, odd]) => {
    const file = `rows.${ending}`;
    const sound = ending === 'json' ? `[${rows.trim().replaceAll('\n', ',')}]` : rows;
    const input = (name: string, text: Content): Input => ({
      kind: `datasets in ${ending}`,
      name,
      files: { 'p.json': SOUND_PROFILE({ path: file }), [file]: text },
      argv: ['check', 'p.json'],
    });
    const common = ending === 'jsonl.gz' ? [] : damaged(sound, random, 6);
    return [
      ...Object.entries(odd).map(([name, text]) => input(name, text)),
      ...common.map(([name, bytes]) => input(name, bytes)),
    ];
  });
  const members = [...spoilt(ROW, random, 15)].map(
    ([name, text]): Input => ({
      kind: 'datasets in jsonl',
      name,
      files: { 'p.json': SOUND_PROFILE({ path: 'rows.jsonl' }), 'rows.jsonl': `${text}\n` },
      argv: ['run', 'p.json'],
    }),
  );
  return [...datasets, ...members, ...recordings(seed), ...calibrations(seed)];
}

function recordings(seed: number): Input[] {
  const random = randomFor(seed, 'recordings');
  const said = { case_id: 'a', repeat: 1, envelope: { text: 'x', tool_calls: [], usage: { input_tokens: 1 } } };
  const agent = { kind: 'replay', name: 'a', version: '1', replay: { path: 'said.jsonl' } };
  const input = (name: string, text: Content): Input => ({
    kind: 'recordings',
    name,
    files: { 'p.json': SOUND_PROFILE({ path: 'cases.jsonl' }, { agent }), 'cases.jsonl': CASES, 'said.jsonl': text },
    argv: ['run', 'p.json'],
  });
  const wrong = [...spoilt(said, random, 12)].map(([name, text]) => input(name, `${text}\n`));
  return [...wrong, ...damaged(`${JSON.stringify(said)}\n`, random, 8).map(([name, bytes]) => input(name, bytes))];
}

function calibrations(seed: number): Input[] {
  const random = randomFor(seed, 'calibrations');
  const input = (name: string, text: Content): Input => ({
    kind: 'calibration sets',
    name,
    files: { 'p.json': SOUND_PROFILE({ path: 'cases.jsonl' }), 'cases.jsonl': CASES, 'set.jsonl': text },
    argv: ['calibrate', 'p.json', '--set', 'set.jsonl', '--dimension', 'd'],
  });
  const wrong = [...spoilt({ input: 'x', answer: 'y', score: 0.5 }, random, 8)].map(([name, text]) =>
    input(name, `${text}\n`),
  );
  return [
    ...wrong,
    ...damaged('{"input":"x","answer":"y","score":1}\n', random, 4).map(([name, bytes]) => input(name, bytes)),
  ];
}

const OLD = path.resolve(import.meta.dirname, '../fixtures/format-1/wilson.proctor.gz');

/** Bundles of both formats, and files that say they are one. */
export function bundleInputs(seed: number, sound: Buffer): Input[] {
  const random = randomFor(seed, 'bundles');
  const input = (name: string, text: Content): Input => ({
    kind: 'bundles',
    name,
    files: { 'run.proctor': text },
    argv: ['verify', 'run.proctor'],
    hopeless: true,
  });
  const parts = partsOf(sound);
  const before = parts.slice(0, -1).map(({ bytes }) => bytes);
  const large = (filler: string) =>
    resealed([...before, `["event",{"body":"${filler.repeat(200_000_000)}"}]\n`], parts.at(-1)?.bytes ?? '');
  const old = gunzipSync(readFileSync(OLD));
  const cut = Array.from({ length: 6 }, () => random.below(sound.length));
  const flipped = Array.from({ length: 6 }, () => random.below(old.length >> 4) + 100);
  return [
    ...damaged(sound, random, 10).map(([name, bytes]) => input(name, bytes)),
    ...cut.map((at) => input(`cut at ${at}`, sound.subarray(0, at))),
    input('200 MB of text in a line', () => large('x')),
    input('a line just within its bound, of wide letters', () =>
      resealed([...before, `["event",{"body":"€${'x'.repeat(16_700_000)}"}]\n`], parts.at(-1)?.bytes ?? ''),
    ),
    input('the first line and 600 MB of zeros', () =>
      Buffer.concat([before[0] ?? Buffer.alloc(0), Buffer.alloc(600_000_000)]),
    ),
    ...flipped.map((at) => ({
      ...input(
        `format 1, noise from ${at}`,
        Buffer.concat([old.subarray(0, at), Buffer.alloc(64, 0xa5), old.subarray(at + 64)]),
      ),
      hopeless: false,
    })),
    input('format 1, cut off', old.subarray(0, old.length >> 1)),
    input('format 1, only its header', old.subarray(0, 100)),
  ];
}
