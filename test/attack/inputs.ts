import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { measureProcess, type ProcessMeasure } from '../../bench/measure-process.ts';
import { ERROR_CODES } from '../../src/contract/problem.ts';
import { builtPackage } from '../support/built-package.ts';
import { proctor } from '../support/cli.ts';
import { examine } from '../support/examined.ts';
import { bundleOfLargeAnswers } from '../support/large-answers.ts';
import type { Input } from './input.ts';
import { commandInputs } from './input-commands.ts';
import { bundleInputs, dataInputs } from './input-data.ts';
import { documentInputs, linkInputs, yamlInputs } from './input-documents.ts';
import { type AttackOptions, randomFor, Tally } from './tally.ts';

const LEAST = 300;
const MOST_MS = 10_000;
const MOST_BYTES = 500_000_000;
const MOST_BUNDLE_BYTES = 300_000_000;
const AT_ONCE = 4;
const COMMAND_LINES = 70;
const EXITS = [0, 1, 2, 3, 4, 5];

/** Gives the program what no one should give it: no stack trace, no undocumented exit code, nothing that takes 10 s or 500 MB. */
export async function attackInputs({ seed, say }: AttackOptions): Promise<Tally> {
  const tally = new Tally();
  const root = mkdtempSync(path.join(tmpdir(), 'proctor-attack-inputs-'));
  prepare(root);
  const inputs = await inputsFor(seed, root);
  const pace = await paceOf(root);
  say(`${inputs.length} inputs; a plain command takes ${pace.toFixed(1)} × its CPU time on this machine now`);
  const json = randomFor(seed, 'json');
  const figures = { slowest: worst(), hardest: worst(), largest: worst() };
  const late: [number, Input, boolean][] = [];
  const book = (input: Input, came: ProcessMeasure | string, asJson: boolean) => {
    tally.tried(input.kind, input.name, typeof came === 'string' ? came : faultOf(came, input, asJson));
    if (typeof came !== 'string') note(figures, input, came);
  };
  const queue = inputs.entries();
  const work = async () => {
    for (const [index, input] of queue) {
      const asJson = json.below(2) === 0;
      const came = await tried(root, `${index}`, input, { asJson, most_ms: MOST_MS * pace });
      if (typeof came === 'string') late.push([index, input, asJson]);
      else book(input, came, asJson);
      if (index % 50 === 49) say(`${index + 1} of ${inputs.length}`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  for (const [index, input, asJson] of late) {
    const own = await paceOf(root);
    say(`alone, at a pace of ${own.toFixed(1)}: ${input.kind}: ${input.name}`);
    book(input, await tried(root, `${index}`, input, { asJson, most_ms: MOST_MS * own }), asJson);
  }
  tally.atLeast(LEAST, 'malformed inputs');
  tally.notes.push(
    `longest ${Math.round(figures.slowest.value)} ms on the clock, at a pace of ${pace.toFixed(1)} (${figures.slowest.name})`,
    `most CPU time ${figures.hardest.value} ms (${figures.hardest.name})`,
    `most memory ${Math.round(figures.largest.value / 1e6)} MB (${figures.largest.name})`,
  );
  rmSync(root, { recursive: true });
  return tally;
}

function prepare(root: string): void {
  spawnSync('sh', ['-c', 'mkfifo "$1"', 'sh', path.join(root, 'pipe')]);
  symlinkSync('/dev/zero', path.join(root, 'device'));
  mkdirSync(path.join(root, 'folder'));
  symlinkSync(path.join(root, 'nowhere'), path.join(root, 'dangling'));
  symlinkSync(path.join(root, 'loop'), path.join(root, 'loop'));
}

async function inputsFor(seed: number, root: string): Promise<Input[]> {
  const exam = path.join(root, 'exam');
  mkdirSync(exam);
  await examine(exam, { cases: 4, wrong: [2] });
  const bundle = path.join(root, 'sound.proctor');
  await proctor(exam, ['export', 'last', '--format', 'bundle', '--out', bundle]);
  const large = path.join(root, 'large');
  mkdirSync(large);
  const ofLargeAnswers = await bundleOfLargeAnswers(large, 3);
  return [
    ...commandInputs(seed, COMMAND_LINES),
    ...documentInputs(seed),
    ...yamlInputs(seed),
    ...linkInputs(seed),
    ...dataInputs(seed),
    ...bundleInputs(seed, readFileSync(bundle)),
    {
      kind: 'bundles',
      name: 'a sound one of three answers of 32 MiB',
      files: { 'run.proctor': () => readFileSync(ofLargeAnswers) },
      argv: ['verify', 'run.proctor'],
    },
  ];
}

/** How much longer than its CPU time a plain command takes: 1 on a quiet machine. */
async function paceOf(root: string): Promise<number> {
  const paces: number[] = [];
  for (let trial = 0; trial < 3; trial += 1) {
    const { wall_ms, cpu_ms } = await measured(root, ['--help'], {}, 600_000);
    paces.push(wall_ms / Math.max(100, cpu_ms));
  }
  return Math.max(1, ...paces);
}

async function tried(
  root: string,
  name: string,
  { files, argv, environment = {} }: Input,
  { asJson, most_ms }: { readonly asJson: boolean; readonly most_ms: number },
): Promise<ProcessMeasure | string> {
  const folder = path.join(root, name);
  mkdirSync(folder);
  for (const [file_name, content] of Object.entries(files)) {
    const file = path.join(folder, file_name);
    const what = typeof content === 'function' ? content() : content;
    if (typeof what === 'string' || Buffer.isBuffer(what)) writeFileSync(file, what);
    else if ('link' in what) symlinkSync(path.join(root, what.link), file);
    else {
      writeFileSync(file, '');
      truncateSync(file, what.zeros);
    }
  }
  const places = Object.entries(environment).map(([name, file]) => [name, path.join(folder, file)]);
  try {
    return await measured(folder, [...argv, ...(asJson ? ['--json'] : [])], Object.fromEntries(places), most_ms);
  } catch (error) {
    if (!(error instanceof Error && error.name === 'TimeoutError')) throw error;
    return `it goes on after ${Math.round(most_ms)} ms`;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function measured(
  cwd: string,
  argv: readonly string[],
  environment: Readonly<Record<string, string>>,
  timeout_ms: number,
): Promise<ProcessMeasure> {
  const env = { PATH: process.env['PATH'], HOME: cwd, TMPDIR: tmpdir(), NO_COLOR: '1', ...environment };
  const flags = '--disable-warning=ExperimentalWarning';
  return await measureProcess({ argv: [process.execPath, flags, builtPackage().main, ...argv], cwd, env, timeout_ms });
}

/** What is wrong with how it ended; null when nothing is. */
function faultOf(came: ProcessMeasure, { hopeless = false, kind }: Input, asJson: boolean): string | null {
  const { exit_code, exit_signal, stdout, stderr } = came;
  const said = `${stdout}${stderr}`;
  const end = said.trim().slice(-300);
  if (exit_signal !== null || exit_code === null) return `it was ended by ${exit_signal}: ${end}`;
  if (!EXITS.includes(exit_code)) return `exit code ${exit_code}: ${end}`;
  if (hopeless && exit_code === 0) return `exit code 0: ${end}`;
  if (/\n\s+at .*[(:\s]\S+:\d+:\d+\)?|node:internal/.test(said)) return `a stack trace: ${end}`;
  if (/"code":\s*"internal"|Proctor failed/.test(said)) return `an error of its own: ${end}`;
  if (exit_code !== 0 && said.trim() === '') return `exit code ${exit_code} without a word`;
  if (asJson) {
    const wrong = wrongJson(stdout, exit_code);
    if (wrong !== null) return `${wrong}: ${end}`;
  }
  if (came.cpu_ms > MOST_MS) return `${came.cpu_ms} ms of CPU time`;
  if (came.peak_rss_bytes > (kind === 'bundles' ? MOST_BUNDLE_BYTES : MOST_BYTES))
    return `${Math.round(came.peak_rss_bytes / 1e6)} MB of memory`;
  return null;
}

/** With `--json` stdout has documents only, and whatever could not be done is a known problem. */
function wrongJson(stdout: string, exit: number): string | null {
  let documents: unknown[];
  try {
    documents = [JSON.parse(stdout)];
  } catch {
    try {
      documents = stdout
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line));
    } catch {
      return 'stdout is no JSON';
    }
  }
  if (exit !== 2) return null;
  const problem = documents.at(-1) as { code?: string } | undefined;
  return problem?.code !== undefined && problem.code in ERROR_CODES ? null : 'exit code 2 without a known problem';
}

interface Worst {
  value: number;
  name: string;
}
const worst = (): Worst => ({ value: 0, name: 'nothing' });

function note(
  figures: Record<'slowest' | 'hardest' | 'largest', Worst>,
  { kind, name }: Input,
  came: ProcessMeasure,
): void {
  const told = `${kind}: ${name}`.slice(0, 100);
  const values = { slowest: came.wall_ms, hardest: came.cpu_ms, largest: came.peak_rss_bytes } as const;
  for (const figure of ['slowest', 'hardest', 'largest'] as const)
    if (values[figure] > figures[figure].value) figures[figure] = { value: values[figure], name: told };
}
