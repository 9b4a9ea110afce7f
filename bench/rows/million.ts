import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { writeWorkload } from '../fixtures/workload.ts';
import { measureProctor, passedRun, storeOf } from '../proctor-cli.ts';
import { megabytes, percent, type Row, shown, told } from '../row.ts';

/** One long run as a whole process: does its rate hold, what memory and disk does it take, how fast is it shown. */
export const million: Row = {
  name: 'million',
  title: '1e6 executions in one run',
  async measure({ folder, quick, note }) {
    const cases = quick ? 100_000 : 1_000_000;
    await writeWorkload(folder, { cases, concurrency: 64 });
    note(
      `${shown(cases)} executions${quick ? ' (--quick: a tenth, and the stretches of the rate are a tenth too)' : ''}; this takes minutes`,
    );
    const started = Date.now();
    const run = await measureProctor(folder, ['run', 'profile.json', '--json', '--quiet'], 200);
    const { run_id } = passedRun(run, cases);
    const times = runTimes(storeOf(folder), cases);
    const early = (cases / 10 - cases / 100) / (times.tenth - times.hundredth);
    const late = cases / 10 / (times.last - times.nine_tenths);
    const show = await measureProctor(folder, ['show', run_id, '--json']);
    passedRun(show, cases);
    const report = await measureProctor(folder, ['show', run_id]);
    const bytes = {
      store: (await stat(storeOf(folder))).size,
      artifacts: await folderBytes(path.join(folder, '.proctor', 'artifacts')),
    };
    const stretch = quick ? 'last 1e4 against 1e3 to 1e4' : 'last 1e5 against 1e4 to 1e5';
    return {
      figures: [
        {
          figure: `rate, ${stretch}`,
          bar: '≥ 0.85',
          measured: shown(late / early),
          beside: `${shown(late * 1000)}/s against ${shown(early * 1000)}/s`,
          met: late / early >= 0.85,
        },
        {
          figure: 'peak memory of the process tree',
          bar: '< 300 MB',
          measured: megabytes(run.peak_rss_bytes),
          beside: '',
          met: run.peak_rss_bytes < 300e6,
        },
        {
          figure: '`show --json`, whole process',
          bar: '< 1 s',
          measured: `${shown(show.wall_ms)} ms`,
          beside: '',
          met: show.wall_ms < 1_000,
        },
        {
          figure: '`show`, whole process',
          bar: '< 5 s',
          measured: `${shown(report.wall_ms)} ms`,
          beside: '',
          met: report.wall_ms < 5_000,
        },
        told(
          'bytes an execution',
          shown((bytes.store + bytes.artifacts) / cases),
          `store ${shown(bytes.store / cases)}, artifacts ${shown(bytes.artifacts / cases)}`,
        ),
        told(
          'planning',
          `${shown((times.created - started) / 1000)} s`,
          `${shown(cases / ((times.created - started) / 1000))} cases/s`,
        ),
        told(
          'finalization',
          `${shown((times.ended - times.last) / 1000)} s`,
          percent((times.ended - times.last) / (times.ended - times.created)),
        ),
        told('whole process', `${shown(run.wall_ms / 1000)} s`, `${shown(run.cpu_ms / 1000)} s of CPU`),
      ],
      details: {
        cases,
        run_id,
        times,
        early_rate_per_s: early * 1000,
        late_rate_per_s: late * 1000,
        bytes,
        peak_rss_bytes: run.peak_rss_bytes,
        wall_ms: run.wall_ms,
        cpu_ms: run.cpu_ms,
        show_ms: show.wall_ms,
        report_ms: report.wall_ms,
      },
    };
  },
};

interface RunTimes {
  readonly created: number;
  /** When the first hundredth, tenth, nine tenths and all of the executions had ended: epoch ms by the store's clock. */
  readonly hundredth: number;
  readonly tenth: number;
  readonly nine_tenths: number;
  readonly last: number;
  readonly ended: number;
}

function runTimes(store: string, cases: number): RunTimes {
  using db = new DatabaseSync(store, { readOnly: true });
  const nth = db.prepare('select finished_at as at from result order by finished_at limit 1 offset ?');
  const at = (count: number) => (nth.get(count - 1) as { at: number }).at;
  const { created, ended } = db.prepare('select created_at as created, finished_at as ended from run').get() as {
    created: number;
    ended: number;
  };
  return {
    created,
    hundredth: at(cases / 100),
    tenth: at(cases / 10),
    nine_tenths: at((cases / 10) * 9),
    last: at(cases),
    ended,
  };
}

async function folderBytes(folder: string): Promise<number> {
  let bytes = 0;
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) bytes += (await stat(path.join(entry.parentPath, entry.name))).size;
  }
  return bytes;
}
