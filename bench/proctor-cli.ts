import path from 'node:path';
import { buildPackage } from '../scripts/build-package.ts';
import { measureProcess, type ProcessMeasure } from './measure-process.ts';

const ROOT = path.join(import.meta.dirname, '..');

/** The launcher of the package, which runs what was built when it is told to (`PROCTOR_DIST`). */
export const LAUNCHER = path.join(ROOT, 'bin', 'proctor');
const LIMIT_MS = 60 * 60_000;

/** Builds the package, which is what is measured; once a process. Answers the file to start. */
export function built(): Promise<string> {
  building ??= buildPackage(path.join(ROOT, 'dist'));
  return building;
}

let building: Promise<string> | undefined;

/** Where the store of a benchmark's project folder is. */
export function storeOf(folder: string): string {
  return path.join(folder, '.proctor', 'proctor.db');
}

/** Runs `bin/proctor` of the built package in a project folder as a whole process; throws unless it ends with 0. */
export async function measureProctor(folder: string, args: readonly string[], sampleMs = 50): Promise<ProcessMeasure> {
  await built();
  const measure = await measureProcess({
    argv: [LAUNCHER, ...args],
    cwd: folder,
    env: {
      PATH: process.env['PATH'],
      HOME: folder,
      PROCTOR_NODE: process.execPath,
      PROCTOR_DIST: '1',
      PROCTOR_DB: storeOf(folder),
    },
    sample_ms: sampleMs,
    timeout_ms: LIMIT_MS,
  });
  if (measure.exit_code !== 0) {
    throw new Error(
      `\`proctor ${args.join(' ')}\` ended with ${measure.exit_code ?? measure.exit_signal}:\n${measure.stdout}\n${measure.stderr}`,
    );
  }
  return measure;
}

/** The run document that `proctor run --json` printed; throws unless every case was run and passed. */
export function passedRun(
  measure: ProcessMeasure,
  cases: number,
): { readonly run_id: string; readonly duration_ms: number } {
  const document = JSON.parse(measure.stdout) as {
    run_id: string;
    gate_status: string;
    passed: number;
    duration_ms: number;
  };
  if (document.gate_status !== 'pass' || document.passed !== cases)
    throw new Error(
      `the run ended ${document.gate_status} with ${document.passed} of ${cases} cases passed; its figures would mean nothing`,
    );
  return document;
}
