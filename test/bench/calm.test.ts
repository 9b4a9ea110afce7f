import { expect, test } from 'vitest';
import { calmRounds } from '../../bench/calm.ts';

test('rounds are measured until enough were calm, never more than allowed; the least stolen are chosen, all are told', async () => {
  const told: number[] = [];
  const { chosen, all } = await calmRounds(
    2,
    4,
    (round) => round,
    ({ value }) => told.push(value),
  );
  expect(told).toEqual(all.map(({ value }) => value));
  expect(all.length).toBeGreaterThanOrEqual(2);
  expect(all.length).toBeLessThanOrEqual(4);
  expect(chosen).toHaveLength(2);
  const left = all.filter((round) => !chosen.includes(round));
  for (const { stolen } of chosen) {
    expect(stolen).toBeGreaterThanOrEqual(0);
    expect(stolen).toBeLessThanOrEqual(Math.min(1, ...left.map((round) => round.stolen)));
  }
});
