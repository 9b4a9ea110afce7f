/**
 * The kill test of approvals: gated calls of real processes, of which one is killed with SIGKILL at a chosen moment of the approval's
 * life; a fresh process then makes the identical call. Each call must be approved once, carried out at most once and never lost.
 *
 *   node test/chaos/approval-kill.ts [COUNT] [SEED]
 *
 * Exit code 1 on any violation, with the seed and the folder that is kept for a look.
 */
import { table } from '../../src/cli/format.ts';
import { killTest, type StepFigures } from '../support/gateway-kill.ts';

const [rounds = 500, seed = Date.now() % 1_000_000] = process.argv.slice(2).map((text) => {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= 1) return value;
  throw new Error(`\`${text}\` is no whole number from 1 on; usage: approval-kill.ts [COUNT] [SEED]`);
});

say(`approvals: ${rounds} rounds, seed ${seed}`);
const report = await killTest({ rounds, seed });
const columns = ['rounds', 'executed_once', 'not_executed', 'unknown', 'lost', 'twice'] as const;
const line = (figures: StepFigures) => [figures.step, ...columns.map((column) => String(figures[column]))];
const sums = columns.map((column) => String(report.steps.reduce((total, figures) => total + figures[column], 0)));
say(
  table([['step', ...columns.map((column) => column.replace('_', ' '))], ...report.steps.map(line), ['sum', ...sums]]),
);
say(`\n${report.kills} kills in ${(report.duration_ms / 1000).toFixed(1)} s`);
for (const violation of report.violations) say(`VIOLATION ${violation}`);
if (report.violations.length > 0) {
  say(`\n${report.violations.length} violations; seed ${seed}; kept for a look: ${report.folder}`);
  process.exitCode = 1;
} else say('no violation');

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
