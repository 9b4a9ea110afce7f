import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { built, LAUNCHER, measureProctor } from '../proctor-cli.ts';
import { median, type Row, shown, told } from '../row.ts';

const ROOT = path.join(import.meta.dirname, '..', '..');
const MOST_OVER_BARE_MS = 60;
const MOST_DEMO_MS = 60_000;

/** What `--help` of the built package costs over a Node that does nothing, and how long the demo takes. */
export const help: Row = {
  name: 'help',
  title: '`--help` and `demo` of the built package',
  async measure({ folder, quick, note }) {
    note('building the package');
    const main = await built();
    const commands = {
      bare: [process.execPath, '-e', '0'],
      built: [process.execPath, main, '--help'],
      launcher: [LAUNCHER, '--help'],
      sources: [
        process.execPath,
        '--disable-warning=ExperimentalWarning',
        path.join(ROOT, 'src', 'cli', 'main.ts'),
        '--help',
      ],
    } as const;
    const times = { bare: [] as number[], built: [] as number[], launcher: [] as number[], sources: [] as number[] };
    const names = Object.keys(commands) as (keyof typeof commands)[];
    for (const name of names) wall(commands[name]); // fills the file and compile caches
    for (let round = 0; round < (quick ? 15 : 31); round += 1)
      for (const name of names) times[name].push(wall(commands[name]));
    const over = median(times.built) - median(times.bare);
    note('the demo');
    const { demo_ms } = JSON.parse((await measureProctor(folder, ['demo', '--json'])).stdout) as { demo_ms: number };
    return {
      figures: [
        {
          figure: '`--help` over bare Node',
          bar: `≤ ${MOST_OVER_BARE_MS} ms`,
          measured: `${shown(over)} ms`,
          beside: `${shown(median(times.built))} ms against ${shown(median(times.bare))} ms`,
          met: over <= MOST_OVER_BARE_MS,
        },
        {
          figure: '`demo` to its verdict and its check',
          bar: `≤ ${MOST_DEMO_MS / 1_000} s`,
          measured: `${shown(demo_ms / 1_000)} s`,
          beside: '',
          met: demo_ms <= MOST_DEMO_MS,
        },
        told(
          '`bin/proctor --help`',
          `${shown(median(times.launcher))} ms`,
          `${shown(median(times.launcher) - median(times.built))} ms for the launcher`,
        ),
        told(
          '`--help` from the sources',
          `${shown(median(times.sources))} ms`,
          `${shown(median(times.sources) - median(times.bare))} ms over bare`,
        ),
      ],
      details: { node: process.version, times },
    };
  },
};

/** Wall time of one process that must end well; the built package, not the sources, is what the launcher runs. */
function wall([file = '', ...args]: readonly string[]): number {
  const started = performance.now();
  const ended = spawnSync(file, args, {
    env: { ...process.env, PROCTOR_DIST: '1', PROCTOR_NODE: process.execPath },
    encoding: 'utf8',
  });
  const elapsed = performance.now() - started;
  if (ended.status !== 0)
    throw new Error(`\`${file} ${args.join(' ')}\` ended with ${ended.status ?? ended.signal}:\n${ended.stderr}`);
  if (args.includes('--help') && !ended.stdout.includes('Usage: proctor'))
    throw new Error(`\`${file} ${args.join(' ')}\` printed no help:\n${ended.stdout}`);
  return elapsed;
}
