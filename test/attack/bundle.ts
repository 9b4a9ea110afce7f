import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { isBundleFile, verifyBundleFile } from '../../src/app.ts';
import { ProctorError } from '../../src/contract/problem.ts';
import type { SeededRandom } from '../../src/core/statistics/seeded-random.ts';
import { canonicalJson } from '../../src/lib/canonical-json.ts';
import { lineOf } from '../../src/store/sqlite/bundle-format.ts';
import { CHECKED_COLUMNS } from '../../src/store/sqlite/checked-columns.ts';
import { type BundlePart, partsOf, resealed } from '../support/bundle-edit.ts';
import { DAMAGES, REWRITES, SEALS } from '../support/bundle-forgeries.ts';
import { proctor } from '../support/cli.ts';
import { examine } from '../support/examined.ts';
import { attackPages } from './bundle-pages.ts';
import { type AttackOptions, oneOf, randomFor, Tally } from './tally.ts';

const DAMAGED_PLACES = 40; // of each kind of damage
const DAMAGED_PAGES = 12;
const LEAST = 200;

/** Damages and forges a signed bundle; every alteration has to be found, without the key unless a forger could do without it. */
export async function attackBundle({ seed, say }: AttackOptions): Promise<Tally> {
  const tally = new Tally();
  const folder = await mkdtemp(path.join(tmpdir(), 'proctor-attack-bundle-'));
  const { sound, parts, key } = await makeBundle(folder);
  say(`a bundle of ${sound.length} bytes in ${parts.length} lines and bodies`);
  const file = path.join(folder, 'altered.proctor');
  const told = async (bytes: Buffer, given: string | null = null) => {
    await writeFile(file, bytes);
    return await toldOf(file, given);
  };
  const untouched = await told(sound, key);
  if (untouched !== 'sound') tally.failures.push(`the untouched bundle is ${untouched}`);
  const lines = parts.slice(0, -1).map(({ bytes }) => bytes);
  const seal = parts.at(-1)?.bytes ?? Buffer.alloc(0);
  if ((await told(resealed(lines, seal))) !== 'sound') tally.failures.push('the forger’s tool makes no sound bundle');

  for (const [kind, name, bytes] of [
    ...damages(sound, randomFor(seed, 'damages')),
    ...Object.entries(REWRITES).map(
      ([name, rewrite]): Altered => ['rewritten lines', name, resealed(rewrite(lines), seal)],
    ),
    ...seals(sound, parts),
    ...columns(lines, seal, randomFor(seed, 'columns')),
  ]) {
    const came = await told(bytes).catch((error: unknown) => `${String(error)}`);
    tally.tried(kind, name, came === 'differs' || came === 'refused' || came === 'no bundle' ? null : came);
  }
  for (const [name, bytes] of freeColumns(lines, seal, randomFor(seed, 'free columns')))
    tally.tried(
      'columns that decide nothing, with the key',
      name,
      (await told(bytes, key)) === 'sound' ? 'sound' : null,
    );
  say('pages of a bundle of format 1');
  await attackPages(tally, folder, { seed, each: DAMAGED_PAGES });
  tally.atLeast(LEAST, 'alterations of a bundle');
  await rm(folder, { recursive: true });
  return tally;
}

type Altered = readonly [kind: string, name: string, bytes: Buffer];

async function makeBundle(folder: string): Promise<{ sound: Buffer; parts: BundlePart[]; key: string }> {
  const pair = generateKeyPairSync('ed25519');
  await writeFile(path.join(folder, 'key.pem'), pair.privateKey.export({ type: 'pkcs8', format: 'pem' }));
  await examine(folder, { cases: 6, wrong: [2], repeats: 2, tags: (n) => [`t${n % 2}`] });
  const commands = [
    ['correct', 'last', 'c0002', '--status', 'passed', '--reason', 'looked at it'],
    ['export', 'last', '--format', 'bundle', '--sign', 'key.pem', '--out', 'run.proctor'],
  ];
  for (const argv of commands) {
    const { code, stderr } = await proctor(folder, argv);
    if (code !== 0) throw new Error(`${argv.join(' ')} ended with ${code}: ${stderr}`);
  }
  const sound = await readFile(path.join(folder, 'run.proctor'));
  return { sound, parts: partsOf(sound), key: pair.publicKey.export({ type: 'spki', format: 'pem' }).toString() };
}

/** `sound`, `differs`, `refused` as no bundle that Proctor made, or `no bundle` at all; anything else is thrown. */
async function toldOf(file: string, key: string | null): Promise<string> {
  if (!(await isBundleFile(file))) return 'no bundle';
  try {
    return (await verifyBundleFile(file, null, key)).ok ? 'sound' : 'differs';
  } catch (error) {
    if (ProctorError.is(error) && error.code === 'store_altered') return 'refused';
    throw error;
  }
}

function damages(sound: Buffer, random: SeededRandom): Altered[] {
  return Object.entries(DAMAGES).flatMap(([name, damage]) =>
    Array.from({ length: DAMAGED_PLACES }, (): Altered => {
      const place = random.below(sound.length);
      const byte = 1 + random.below(254);
      return [name, `byte ${place}, with ${byte}`, damage(sound, place, byte)];
    }).filter(([, , bytes]) => !bytes.equals(sound)),
  );
}

function seals(sound: Buffer, parts: readonly BundlePart[]): Altered[] {
  const last = parts.at(-1);
  const [, seal] = JSON.parse(last?.bytes.toString() ?? '') as [string, Record<string, string>];
  const before = sound.subarray(0, last?.offset);
  return Object.entries(SEALS).map(([name, form]) => [
    'forged statements',
    name,
    Buffer.concat([before, Buffer.from(form(seal))]),
  ]);
}

/** Every member of a row of each kind, altered by somebody who makes the line and the digest anew. */
function columns(lines: readonly Buffer[], seal: Buffer, random: SeededRandom): Altered[] {
  return forged(lines, random)
    .filter(({ kind, member }) => !decidesNothing(kind, member))
    .map(({ kind, member, told, altered }) => [
      'columns, the digest made anew',
      `${kind}.${member} ${told}`,
      resealed(altered, seal),
    ]);
}

function freeColumns(lines: readonly Buffer[], seal: Buffer, random: SeededRandom): [string, Buffer][] {
  return forged(lines, random)
    .filter(({ kind, member }) => decidesNothing(kind, member))
    .map(({ kind, member, told, altered }) => [`${kind}.${member} ${told}`, resealed(altered, seal)]);
}

/** What only a whole store can tell, or nothing rests on, by the table of what is checked. */
function decidesNothing(kind: string, member: string): boolean {
  return member in (CHECKED_COLUMNS[kind]?.nothing ?? {});
}

interface Forged {
  readonly kind: string;
  readonly member: string;
  readonly told: string;
  readonly altered: readonly Buffer[];
}

function forged(lines: readonly Buffer[], random: SeededRandom): Forged[] {
  const rows = lines.flatMap((line, place) => {
    if (!line.toString('latin1', 0, 2).startsWith('["')) return []; // a body
    const [kind, members] = JSON.parse(line.toString()) as [string, Record<string, unknown>];
    return kind in CHECKED_COLUMNS ? [{ kind, members, place }] : [];
  });
  return [...Map.groupBy(rows, ({ kind }) => kind)].flatMap(([kind, list]) =>
    Object.keys(list[0]?.members ?? {}).map((member) => {
      const { members, place } = oneOf(random, list);
      const value = other(members[member], random);
      const line = Buffer.from(lineOf(kind, { ...members, [member]: value }));
      const told = `${canonicalJson(members[member] as string)} := ${canonicalJson(value)}`.slice(0, 160);
      return { kind, member, told, altered: lines.map((one, index) => (index === place ? line : one)) };
    }),
  );
}

/** Another value of the same type, or a value where there was none. */
function other(value: unknown, random: SeededRandom): string | number {
  if (typeof value === 'number') return value + oneOf(random, [1, -1, 1_000]);
  if (typeof value !== 'string') return oneOf(random, ['x', 1]);
  const at = random.below(value.length || 1);
  const letter = oneOf(random, [...'0123456789abcdef']);
  return `${value.slice(0, at)}${letter === value[at] ? 'x' : letter}${value.slice(at + 1)}`;
}
