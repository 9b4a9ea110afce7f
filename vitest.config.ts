import { defineConfig } from 'vitest/config';

/**
 * Limits are for hangs: what takes a second here may take a minute on a machine that is busy with other things. No test sets its own, and
 * speed is measured in `bench/`.
 */
const HANG_MS = 120_000;

const REAL_DATA = 'test/real-data/**/*.test.ts';
const CHAOS = 'test/chaos/**/*.test.ts';

/** `npm test` runs `suite`, and `real-data` where `PROCTOR_DATA` names the records; `npm run chaos` runs `chaos`. */
export default defineConfig({
  test: {
    pool: 'forks',
    maxWorkers: 3, // on two cores: tests wait for a good part of their time
    testTimeout: HANG_MS,
    hookTimeout: HANG_MS,
    expect: { poll: { timeout: HANG_MS / 2 } },
    projects: [
      { extends: true, test: { name: 'suite', include: ['test/**/*.test.ts'], exclude: [REAL_DATA, CHAOS] } },
      { extends: true, test: { name: 'chaos', include: [CHAOS], testTimeout: 10 * HANG_MS } },
      ...(process.env['PROCTOR_DATA']
        ? [{ extends: true as const, test: { name: 'real-data', include: [REAL_DATA], testTimeout: 5 * HANG_MS } }]
        : []),
    ],
  },
});
