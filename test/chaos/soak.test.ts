import { expect, test } from 'vitest';
import { soak } from '../support/chaos-soak.ts';

test('three runs whose workers are killed and stopped come to the verdict and content digest of an undisturbed one', async () => {
  const report = await soak({ runs: 3, executions: 500, seed: 4711, least_kills: 20 });

  expect({ violations: report.violations, kept: report.violations.length > 0 ? report.folder : null }).toEqual({
    violations: [],
    kept: null,
  });
  expect(report.runs.length).toBeGreaterThanOrEqual(3);
  const sum = (figure: 'kills' | 'stops' | 'reaped' | 'late_completions' | 'late_evidence') =>
    report.runs.reduce((total, run) => total + run[figure], 0);
  expect(sum('kills')).toBeGreaterThanOrEqual(60);
  expect(sum('stops')).toBeGreaterThan(0);
  expect(sum('reaped')).toBeGreaterThan(0);
  expect(sum('late_completions')).toBeGreaterThan(0);
  expect(sum('late_evidence')).toBeGreaterThan(0);
});
