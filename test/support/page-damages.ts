import { DatabaseSync } from 'node:sqlite';
import type { SeededRandom } from '../../src/core/statistics/seeded-random.ts';

const PAGE = 4096; // of the bundles of format 1

/** Damages of a SQLite file, by what they hit; each is another for another random. */
export const PAGE_DAMAGES: Readonly<Record<string, (sound: Buffer, random: SeededRandom) => Buffer>> = {
  'a byte of the header': (sound, random) => flipped(sound, 16 + random.below(84), random),
  'a byte of the schema': (sound, random) => flipped(sound, 100 + random.below(PAGE - 100), random),
  'the kind of a page': (sound, random) => flipped(sound, pageStart(sound, random), random),
  'a page’s count of cells': (sound, random) => flipped(sound, pageStart(sound, random) + 3 + random.below(2), random),
  'where a page’s content begins': (sound, random) =>
    flipped(sound, pageStart(sound, random) + 5 + random.below(3), random),
  'where a cell stands': (sound, random) => flipped(sound, pageStart(sound, random) + 8 + random.below(24), random),
  'a byte anywhere': (sound, random) => flipped(sound, random.below(sound.length), random),
  noise: (sound, random) => {
    const copy = Buffer.from(sound);
    const from = 100 + random.below(copy.length - 600);
    for (let at = from; at < from + 512; at += 1) copy[at] = random.below(256);
    return copy;
  },
  'a page of zeros': (sound, random) => {
    const copy = Buffer.from(sound);
    const from = pageStart(sound, random);
    return copy.fill(0, from, from + PAGE);
  },
  'two pages exchanged': (sound, random) => {
    const copy = Buffer.from(sound);
    const [one, other] = [pageStart(sound, random), pageStart(sound, random)];
    sound.copy(copy, one, other, other + PAGE);
    sound.copy(copy, other, one, one + PAGE);
    return copy;
  },
  'a page that is another’s twin': (sound, random) => {
    const copy = Buffer.from(sound);
    const from = pageStart(sound, random);
    sound.copy(copy, pageStart(sound, random), from, from + PAGE);
    return copy;
  },
  'cut off at a page': (sound, random) => sound.subarray(0, pageStart(sound, random)),
  'cut off anywhere': (sound, random) => sound.subarray(0, 100 + random.below(sound.length - 100)),
};

function pageStart(sound: Buffer, random: SeededRandom): number {
  return PAGE * (1 + random.below(sound.length / PAGE - 1));
}

function flipped(sound: Buffer, at: number, random: SeededRandom): Buffer {
  const copy = Buffer.from(sound);
  copy[at] = (copy[at] ?? 0) ^ (1 + random.below(255));
  return copy;
}

const LEVELS = 10;
const CHILDREN = 400;

/** A table of a few pages that seems to have 400¹⁰ rows: each page of its tree names the next one 400 times. */
export function endlessTable(file: string, sound: Buffer, table: string): Buffer {
  const db = new DatabaseSync(file, { readOnly: true });
  const root = Number(
    db.prepare("select rootpage from sqlite_schema where type = 'table' and name = ?").get(table)?.['rootpage'],
  );
  db.close();
  const from = PAGE * (root - 1);
  const first = sound.length / PAGE + 1;
  const pages = Array.from({ length: LEVELS }, (_, level) => interiorPage(first + level + 1));
  const copy = Buffer.concat([sound, ...pages, sound.subarray(from, from + PAGE)]);
  interiorPage(first).copy(copy, from);
  copy.writeUInt32BE(copy.length / PAGE, 28);
  return copy;
}

function interiorPage(child: number): Buffer {
  const page = Buffer.alloc(PAGE);
  const content = PAGE - 6 * CHILDREN;
  page[0] = 0x05;
  page.writeUInt16BE(CHILDREN, 3);
  page.writeUInt16BE(content, 5);
  page.writeUInt32BE(child, 8);
  for (let cell = 0; cell < CHILDREN; cell += 1) {
    const at = content + 6 * cell;
    page.writeUInt16BE(at, 12 + 2 * cell);
    page.writeUInt32BE(child, at);
    page[at + 4] = 0x80 | (cell >> 7);
    page[at + 5] = cell & 0x7f;
  }
  return page;
}
