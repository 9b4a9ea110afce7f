import { mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { caseText } from '../fixtures/cases.ts';
import { measureProcess, type ProcessMeasure } from '../measure-process.ts';

const FOLDER = join(import.meta.dirname, 'promptfoo');

/** How promptfoo did on the benchmark's cases. */
export interface PromptfooFigures {
  readonly install_version: string;
  readonly cases: number;
  /** Wall time of the process that ran all cases. */
  readonly whole_process_ms: number;
  /** (cases − 1) / (whole_process_ms − one_case_ms): what a further case costs, without start-up and migration. */
  readonly steady_rate_per_s: number;
  /** Wall time of a process that ran one case, with warm file caches. */
  readonly one_case_ms: number;
  readonly peak_rss_bytes: number;
}

/** What to measure; `work_dir` exists, gets promptfoo's databases and logs, and is its owner's to remove. */
export interface PromptfooOptions {
  readonly cases: number;
  readonly concurrency: number;
  readonly work_dir: string;
  readonly signal?: AbortSignal;
}

/**
 * Measures `promptfoo eval` as a whole process: provider `echo`, one `equals` assertion a case, no cache, its default
 * persistence (SQLite). Throws unless its database holds every case as passed.
 */
export async function measurePromptfoo(options: PromptfooOptions): Promise<PromptfooFigures> {
  const { cases } = options;
  if (!Number.isInteger(cases) || cases < 2)
    throw new RangeError(`${cases} cases give no steady rate; measure at least 2`);
  const { entry, version } = await ensurePromptfoo(options.signal);
  await evaluate({ ...options, cases: 1 }, entry, 'warm-up');
  const one = await evaluate({ ...options, cases: 1 }, entry, 'one');
  const all = await evaluate(options, entry, 'all');
  if (all.wall_ms <= one.wall_ms) {
    throw new Error(
      `${cases} cases took ${all.wall_ms} ms and one took ${one.wall_ms} ms; measure more cases for a steady rate`,
    );
  }
  return {
    install_version: version,
    cases,
    whole_process_ms: all.wall_ms,
    steady_rate_per_s: ((cases - 1) / (all.wall_ms - one.wall_ms)) * 1000,
    one_case_ms: one.wall_ms,
    peak_rss_bytes: all.peak_rss_bytes,
  };
}

/** Installs the pinned promptfoo by `npm ci` in its own folder when it is not there; returns its entry file and version. */
export async function ensurePromptfoo(
  signal?: AbortSignal,
): Promise<{ readonly entry: string; readonly version: string }> {
  const pinned = (await manifest(FOLDER))?.dependencies?.['promptfoo'];
  const home = join(FOLDER, 'node_modules', 'promptfoo');
  if ((await manifest(home))?.version !== pinned) {
    const install = await measureProcess({
      argv: ['npm', 'ci', '--no-progress'],
      cwd: FOLDER,
      env: { ...process.env, PATH: path() },
      timeout_ms: 15 * 60_000,
      ...(signal ? { signal } : {}),
    });
    if (install.exit_code !== 0)
      throw new Error(
        `\`npm ci\` in \`bench/peers/promptfoo\` failed; run it by hand. It said:\n${lastLines(install)}`,
      );
  }
  const version = (await manifest(home))?.version;
  if (version === undefined || version !== pinned)
    throw new Error(`promptfoo ${version} is installed where ${pinned} is pinned; delete its \`node_modules\``);
  return { entry: join(home, 'dist', 'src', 'entrypoint.js'), version };
}

/** One `promptfoo eval` in a fresh folder with a fresh database. */
async function evaluate(options: PromptfooOptions, entry: string, name: string): Promise<ProcessMeasure> {
  const folder = await mkdtemp(join(options.work_dir, `promptfoo-${name}-`));
  const state = join(folder, 'state');
  await mkdir(state);
  await writeFile(join(folder, 'config.json'), JSON.stringify(config(options.cases)));
  const measure = await measureProcess({
    // Table and progress bar are left out in its favour: Proctor prints none either.
    argv: [
      process.execPath,
      entry,
      'eval',
      '--config',
      'config.json',
      '--no-cache',
      '--no-share',
      '--no-table',
      '--no-progress-bar',
      '--max-concurrency',
      String(options.concurrency),
    ],
    cwd: folder,
    env: environment(folder, state),
    timeout_ms: 30 * 60_000,
    ...(options.signal ? { signal: options.signal } : {}),
  });
  if (measure.exit_code !== 0)
    throw new Error(
      `\`promptfoo eval\` of ${options.cases} cases ended with ${measure.exit_code ?? measure.exit_signal}:\n${lastLines(measure)}`,
    );
  requireEvaluated(join(state, 'promptfoo.db'), options.cases);
  return measure;
}

function config(cases: number): unknown {
  return {
    prompts: ['{{input}}'],
    providers: ['echo'],
    tests: Array.from({ length: cases }, (_, index) => {
      const text = caseText(index + 1);
      return { vars: { input: text }, assert: [{ type: 'equals', value: text }] };
    }),
  };
}

/**
 * An environment in which promptfoo reaches nothing outside. Even with telemetry disabled, 0.123.1 posts one event that
 * says so; the proxy variables lead that one to a closed loopback port, where it is refused at once.
 */
function environment(home: string, state: string): Record<string, string> {
  const closed = 'http://127.0.0.1:9';
  return {
    PATH: path(),
    HOME: home,
    PROMPTFOO_CONFIG_DIR: state,
    PROMPTFOO_DISABLE_TELEMETRY: '1',
    PROMPTFOO_DISABLE_UPDATE: '1',
    PROMPTFOO_DISABLE_REMOTE_GENERATION: '1',
    PROMPTFOO_DISABLE_SHARING: '1',
    HTTP_PROXY: closed,
    HTTPS_PROXY: closed,
  };
}

/** A rate counts only when its database holds every case, each graded by its one assertion and passed. */
function requireEvaluated(database: string, cases: number): void {
  using db = new DatabaseSync(database, { readOnly: true });
  const statement = db.prepare(
    `select count(*) as results, count(distinct test_idx) as tests, total(success) as passed,
            total(json_array_length(grading_result, '$.componentResults')) as assertions
     from eval_results`,
  );
  const found = JSON.stringify(statement.get());
  const expected = JSON.stringify({ results: cases, tests: cases, passed: cases, assertions: cases });
  if (found !== expected)
    throw new Error(`promptfoo's database holds ${found} where ${expected} was expected; its rate would mean nothing`);
}

/** The PATH with this Node first: promptfoo and the npm that installs it need Node ≥ 22. */
function path(): string {
  return `${dirname(process.execPath)}:${process.env['PATH'] ?? ''}`;
}

async function manifest(folder: string): Promise<{ version?: string; dependencies?: Record<string, string> } | null> {
  try {
    return JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

function lastLines(measure: ProcessMeasure): string {
  return `${measure.stdout}\n${measure.stderr}`.trim().split('\n').slice(-20).join('\n');
}
