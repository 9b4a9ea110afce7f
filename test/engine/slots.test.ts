import { expect, it } from 'vitest';
import { ClaimAhead, Slots } from '../../src/engine/slots.ts';

const never = new AbortController().signal;

it('gives slots in the order they were asked for, no more than there are and than the run may have', async () => {
  const slots = new Slots(3);
  const started: string[] = [];
  const take = (name: string, runId: string, most: number) =>
    slots.take(runId, most, never).then(() => void started.push(name));
  const all = ['a1', 'a2', 'b1', 'a3', 'b2'].map((name) => take(name, name.slice(0, 1), name.startsWith('a') ? 1 : 5));
  await turn();
  expect([started, slots.waiting]).toEqual([['a1', 'b1', 'b2'], 2]);
  slots.leave('b');
  await turn();
  expect(started, 'run a has its one slot taken').toHaveLength(3);
  slots.leave('a');
  await turn();
  expect(started.slice(3)).toEqual(['a2']);
  slots.leave('a');
  await Promise.all(all);
  expect([started.slice(4), slots.waiting]).toEqual([['a3'], 0]);
});

it('lets go of what waits when it is aborted or refused, and of nothing else', async () => {
  const slots = new Slots(1);
  await slots.take('a', 1, never);
  const stop = new AbortController();
  const aborted = slots.take('a', 1, stop.signal);
  const refused = slots.take('a', 1, never);
  stop.abort(new Error('cancelled'));
  await expect(aborted).rejects.toThrow('cancelled');
  expect(slots.waiting).toBe(1);
  slots.refuse(new Error('draining'));
  await expect(refused).rejects.toThrow('draining');
  await expect(slots.take('a', 1, stop.signal)).rejects.toThrow('cancelled');
  slots.leave('a');
  await slots.take('a', 1, never);
});

it('claims ahead what ends while a claim is under way, by their mean times', () => {
  const ahead = new ClaimAhead();
  expect(ahead.enough(20), 'before anything is known').toBe(0);
  ahead.claimed(6);
  ahead.worked(30);
  expect(ahead.enough(20), 'twice the four').toBe(8);
  for (let index = 0; index < 200; index += 1) ahead.worked(1_000);
  expect(ahead.enough(20), 'not one ends meanwhile').toBe(0);
  for (let index = 0; index < 200; index += 1) ahead.worked(5);
  expect(ahead.enough(20), 'the store is what limits').toBe(0);
  for (let index = 0; index < 200; index += 1) ahead.worked(6.1);
  expect(ahead.enough(20), 'never more than there are slots').toBe(20);
});

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
