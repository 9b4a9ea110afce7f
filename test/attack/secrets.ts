import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { SeededRandom } from '../../src/core/statistics/seeded-random.ts';
import { FORMS } from '../core/redaction/forms.ts';
import { proctor } from '../support/cli.ts';
import { allBytes, channelCases, leakyServer } from '../support/secret-channels.ts';
import { type AttackOptions, oneOf, randomFor, Tally } from './tally.ts';

const EXPORTS = ['junit', 'jsonl', 'csv', 'html', 'annotations', 'bundle'];
const PARTS = ['text', 'structured', 'keys', 'tool_calls', 'trace', 'metadata', 'plain'];
const CHANNELS = [...PARTS, 'header', 'error', 'cut', 'invalid'];

/** An agent tells new secrets in every form, in every part of its answers; no export, store, artifact or output holds one. */
export async function attackBySecrets({ seed, say }: AttackOptions): Promise<Tally> {
  const tally = new Tally();
  const secrets = secretsFor(randomFor(seed, 'secrets'));
  const folder = await mkdtemp(path.join(tmpdir(), 'proctor-attack-secrets-'));
  const written = await told(folder, secrets);
  say(`${Object.keys(secrets).length} secrets × ${FORMS.length} forms × ${CHANNELS.length} parts of answers`);
  for (const { place, bytes } of written)
    for (const form of FORMS) {
      const leaked = Object.entries(secrets).filter(([, value]) => holds(bytes, form.write(value)));
      const named = leaked.map(([name, value]) => `${name} (${value})`).join(', ');
      tally.tried(place, form.name, leaked.length > 0 ? `it holds ${named}` : null);
    }
  for (const name of Object.keys(secrets))
    for (const { place, bytes } of written.filter((one) => one.place === 'store' || one.place === 'jsonl'))
      if (!bytes.includes(`[secret ${name}]`))
        tally.failures.push(`${place}: no [secret ${name}] in it: nothing was told`);
  tally.atLeast(29 * (EXPORTS.length + 1), 'forms in exports and store');
  if (tally.failures.length === 0) await rm(folder, { recursive: true });
  else tally.failures.push(`kept for a look: ${folder}`);
  return tally;
}

const LETTERS = [...'abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ'];
const DIGITS = [...'0123456789'];
const ALPHABETS: Readonly<Record<string, readonly string[]>> = {
  WORD: [...LETTERS, ...'äöüßéñ'],
  MARKUP: [...LETTERS, ...'<>&"\'/+='],
  PIN: DIGITS,
  PHRASE: [...LETTERS, ' ', '-', ','],
  TOKEN: [...LETTERS, ...DIGITS, ...'+/-_.'],
  HEX: [...DIGITS, ...'abcdef'],
};

function secretsFor(random: SeededRandom): Record<string, string> {
  return Object.fromEntries(
    Object.entries(ALPHABETS).map(([name, alphabet]) => {
      const length = 10 + random.below(14);
      // Nothing that a form of it would lose: letters stand at both ends, and no two blanks meet.
      const middle = Array.from({ length }, () => oneOf(random, alphabet))
        .join('')
        .replaceAll(/ {2,}/g, ' a ');
      const ends = alphabet.includes('a') && name !== 'HEX' ? ['x', 'z'] : ['7', '3'];
      return [name, `${ends[0]}${middle}${ends[1]}`];
    }),
  );
}

interface Written {
  readonly place: string;
  readonly bytes: Buffer;
}

/** Runs the agent, and answers everything that was kept, exported and printed. */
async function told(folder: string, secrets: Readonly<Record<string, string>>): Promise<Written[]> {
  await using server = await leakyServer(secrets);
  const headers = Object.fromEntries(Object.keys(secrets).map((name) => [`x-${name.toLowerCase()}`, hidden(name)]));
  const profile = {
    profile_id: 'secrets',
    dataset: { path: 'cases.json' },
    agent: { kind: 'http', name: 'leaky', version: '1', endpoint: { url: server.url, headers } },
    retry: { infrastructure: 0, grader: 0 },
    case_groups: [{ id: 'all', evaluators: [{ ref: 'similarity@1', dimension: 'd' }] }],
  };
  await writeFile(path.join(folder, 'cases.json'), JSON.stringify(channelCases(CHANNELS, secrets)));
  await writeFile(path.join(folder, 'profile.json'), JSON.stringify(profile));

  await mkdir(path.join(folder, 'out'));
  const commands = [
    ['run', 'profile.json', '--json'],
    ['show', 'last', '--executions'],
    ['show', 'last', '--case', 'error-PIN-0', '--full'],
    ['verify', 'last', '--json'],
    ['doctor'],
    ...EXPORTS.map((format) => ['export', 'last', '--format', format, '--out', `out/run.${format}`]),
  ];
  const said: string[] = [];
  for (const argv of commands) {
    const { code, stdout, stderr } = await proctor(folder, argv, secrets);
    if (argv[0] === 'export' && code !== 0) throw new Error(`${argv.join(' ')} ended with ${code}: ${stderr}`);
    said.push(stdout, stderr);
  }
  const exported = EXPORTS.map(async (format) => ({
    place: format,
    bytes: await readFile(path.join(folder, 'out', `run.${format}`)),
  }));
  const artifacts = await allBytes(path.join(folder, '.proctor/artifacts'));
  return [
    ...(await Promise.all(exported)),
    { place: 'store', bytes: await storeBytes(path.join(folder, '.proctor/proctor.db')) },
    { place: 'artifacts', bytes: Buffer.concat(artifacts.map(({ bytes }) => bytes)) },
    { place: 'output', bytes: Buffer.from(said.join('\n')) },
  ];
}

const hidden = (name: string) => `\${secret:${name}}`;

/** The file as it lies, and every value in it: a long one is cut up among pages. */
async function storeBytes(file: string): Promise<Buffer> {
  const db = new DatabaseSync(file, { readOnly: true });
  const tables = db.prepare("select name from sqlite_schema where type = 'table'").all();
  const rows = tables.flatMap(({ name }) => db.prepare(`select * from "${String(name)}"`).all());
  db.close();
  const values = rows.flatMap((row) => Object.values(row).map(String)).join('\n');
  return Buffer.concat([await readFile(file), Buffer.from(values)]);
}

/** Whether some bytes hold a form: as it is, or as JSON, CSV, XML, HTML or a workflow command writes it. */
function holds(bytes: Buffer, form: string): boolean {
  const json = JSON.stringify(form).slice(1, -1);
  const markup = form.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  const quoted = markup.replaceAll('"', '&quot;');
  const command = form.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
  const apostrophes = [quoted.replaceAll("'", '&#39;'), quoted.replaceAll("'", '&apos;')];
  const writings = [form, json, form.replaceAll('"', '""'), json.replaceAll('"', '""'), markup, quoted, command];
  return [...writings, ...apostrophes].some((text) => bytes.includes(text));
}
