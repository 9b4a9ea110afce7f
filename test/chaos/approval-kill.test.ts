import { expect, test } from 'vitest';
import { killTest } from '../support/gateway-kill.ts';
import { STEPS } from '../support/gateway-kill-steps.ts';

test('a process that is killed at any step of an approval’s life neither loses a call nor carries it out twice', async () => {
  const rounds = STEPS.length + 3;

  const report = await killTest({ rounds, seed: 4711 });

  expect({ violations: report.violations, kept: report.folder }).toEqual({ violations: [], kept: null });
  expect(report.steps.reduce((total, step) => total + step.rounds, 0)).toBe(rounds);
  expect(report.steps.filter((step) => step.rounds === 0)).toEqual([]);
  expect(report.kills).toBeGreaterThanOrEqual(rounds);
  expect(report.steps.filter((step) => step.lost + step.twice > 0)).toEqual([]);
});
