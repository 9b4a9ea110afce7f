import { readFile } from 'node:fs/promises';

/** A measurement, and how much of the processors' time that this machine wanted meanwhile the hypervisor gave to others. */
export interface Calmed<T> {
  readonly value: T;
  /** In [0, 1]; 0 where the system does not tell. */
  readonly stolen: number;
}

const CALM = 0.1;

/** Measures and tells how much of the machine was taken away meanwhile. */
export async function calmed<T>(measure: () => Promise<T> | T): Promise<Calmed<T>> {
  const before = await processorTime();
  const value = await measure();
  const after = await processorTime();
  const wanted = after.wanted - before.wanted;
  return { value, stolen: wanted > 0 ? (after.stolen - before.stolen) / wanted : 0 };
}

/**
 * Measures until `wanted` rounds were calm (at most 10 % stolen), at most `most` rounds. Answers every round that was made
 * and the calm ones, filled up with the least stolen: a rate on a machine that is taken away says nothing of the program.
 */
export async function calmRounds<T>(
  wanted: number,
  most: number,
  measure: (round: number) => Promise<T> | T,
  told: (round: Calmed<T>) => void,
): Promise<{ readonly chosen: readonly Calmed<T>[]; readonly all: readonly Calmed<T>[] }> {
  const all: Calmed<T>[] = [];
  while (all.length < most && all.filter(({ stolen }) => stolen <= CALM).length < wanted) {
    const round = await calmed(() => measure(all.length + 1));
    told(round);
    all.push(round);
  }
  return { chosen: all.toSorted((a, b) => a.stolen - b.stolen).slice(0, wanted), all };
}

/** Jiffies of all processors since boot (proc(5), `/proc/stat`): user, nice, system, idle, iowait, irq, softirq, steal; idle and waiting are not wanted. */
async function processorTime(): Promise<{ wanted: number; stolen: number }> {
  const text = await readFile('/proc/stat', 'utf8').catch(() => ''); // not Linux: nothing is told
  const jiffies = (/^cpu +(.+)$/m.exec(text)?.[1] ?? '').split(' ').slice(0, 8).map(Number);
  const [user = 0, nice = 0, system = 0, , , irq = 0, soft = 0, stolen = 0] = jiffies;
  return { wanted: user + nice + system + irq + soft + stolen, stolen };
}
