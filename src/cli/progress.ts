import type { Holder, Progress, Store } from '../contract/store.ts';
import type { Clock } from '../lib/clock.ts';
import { bar, counted, cut, duration, number } from './format.ts';
import type { Output } from './output.ts';

/** Which run to show, under which title, until when. */
export interface ProgressOptions {
  readonly run_id: string;
  readonly title: string;
  readonly signal: AbortSignal;
  /** The session of this process, whose leases are not waited for. */
  readonly session_id: string | null;
}

const LOOK_MS = 250;
const PLAIN_EVERY_MS = 5_000;
const STILL_MS = 2_000; // without an end for so long, say what is waited for

/** Shows a run's progress on stderr until the signal: a pinned window on a terminal, plain lines elsewhere. */
export async function showProgress(
  store: Store,
  clock: Clock,
  output: Output,
  options: ProgressOptions,
): Promise<void> {
  const rate = new Rate();
  let plainAt = Number.NEGATIVE_INFINITY;
  let plainShare = -1;
  let waited = false;
  while (!options.signal.aborted) {
    const progress = await store.progress(options.run_id);
    const now = clock.monotonic();
    rate.see(ended(progress), now);
    const waiting = await waitingFor(store, clock, progress, rate.stillFor(now), options);
    if (output.pinned) output.pin(lines(options.title, progress, rate, waiting, output));
    else {
      const share = Math.floor((ended(progress) / Math.max(1, progress.total)) * 4);
      const due = now - plainAt > PLAIN_EVERY_MS || share !== plainShare || (waiting !== null && !waited);
      if (due) output.note(plain(progress, rate, waiting));
      if (due) plainAt = now;
      waited = waiting !== null;
      plainShare = share;
    }
    await clock.sleep(LOOK_MS, options.signal).catch(() => undefined); // the end of the run ends the show
  }
  output.pin([]);
}

/** What the run waits for and since when it shows, or null. */
async function waitingFor(
  store: Store,
  clock: Clock,
  progress: Progress,
  stillMs: number,
  options: ProgressOptions,
): Promise<string | null> {
  if (progress.next_retry_at !== null && progress.running === 0 && progress.pending === 0) {
    const wait = Math.max(0, progress.next_retry_at - clock.now());
    return `${number(progress.retry_scheduled)} to retry after ${progress.next_retry_reason ?? 'a failure'}, next in ${duration(wait)}`;
  }
  if (progress.waiting > 0 && progress.running === 0) return `${number(progress.waiting)} wait for an approval`;
  if (stillMs < STILL_MS || progress.running === 0) return null;
  const others = (await store.holders(options.run_id)).filter((holder) => holder.session_id !== options.session_id);
  const [holder] = others;
  return holder === undefined
    ? `${number(progress.running)} in flight, no answer for ${duration(stillMs)}`
    : leaseText(holder, clock);
}

function leaseText(holder: Holder, clock: Clock): string {
  const rest = Math.max(0, holder.lease_until - clock.now());
  return `${number(holder.held)} held by worker ${holder.worker} on ${holder.host} (pid ${holder.pid}), lease ends in ${duration(rest)}`;
}

function lines(title: string, progress: Progress, rate: Rate, waiting: string | null, output: Output): string[] {
  const share = ended(progress) / Math.max(1, progress.total);
  const { noteStyle } = output;
  const failed = progress.completed - progress.passed + progress.failed + progress.timed_out;
  const counts = [
    noteStyle('green', `${number(progress.passed)} passed`),
    failed > 0 ? noteStyle('red', `${number(failed)} not passed`) : '',
    progress.running > 0 ? `${number(progress.running)} running` : '',
    progress.retry_scheduled > 0 ? noteStyle('yellow', `${number(progress.retry_scheduled)} to retry`) : '',
    progress.stale > 0 ? noteStyle('yellow', `${counted(progress.stale, 'lease')} lost`) : '',
  ].filter((text) => text !== '');
  const left = rate.eta(progress.total - ended(progress));
  return [
    `${noteStyle('bold', cut(title, output.columns - 1))}`,
    `${noteStyle('cyan', bar(share, Math.min(40, output.columns - 40)))} ${number(ended(progress))}/${number(progress.total)}  ${rate.text()}${left}`,
    counts.join(noteStyle('dim', ' · ')),
    ...(waiting === null ? [] : [noteStyle('yellow', `waiting: ${cut(waiting, output.columns - 10)}`)]),
  ];
}

function plain(progress: Progress, rate: Rate, waiting: string | null): string {
  const failed = progress.completed - progress.passed + progress.failed + progress.timed_out;
  const parts = [
    `${number(ended(progress))}/${number(progress.total)}`,
    `${number(progress.passed)} passed`,
    `${number(failed)} not passed`,
    `${number(progress.running)} running`,
    rate.text(),
  ].filter((part) => part !== '');
  return `proctor: ${parts.join(', ')}${waiting === null ? '' : `; waiting: ${waiting}`}`;
}

function ended(progress: Progress): number {
  return progress.completed + progress.failed + progress.timed_out + progress.cancelled;
}

/** Executions a second over the last few looks. */
class Rate {
  #seen: { at: number; ended: number }[] = [];
  #changed = Number.NaN;

  see(count: number, at: number): void {
    if (this.#seen.at(-1)?.ended !== count) this.#changed = at;
    this.#seen = [...this.#seen.slice(-19), { at, ended: count }];
  }

  stillFor(now: number): number {
    return now - this.#changed;
  }

  text(): string {
    const rate = this.#perSecond();
    return rate === null ? '' : `${rate >= 10 ? number(Math.round(rate)) : rate.toFixed(1)}/s`;
  }

  eta(rest: number): string {
    const rate = this.#perSecond();
    return rate === null || rate === 0 || rest === 0 ? '' : `, ${duration((rest / rate) * 1000)} left`;
  }

  #perSecond(): number | null {
    const first = this.#seen[0];
    const last = this.#seen.at(-1);
    if (first === undefined || last === undefined || last.at - first.at < 200) return null;
    return ((last.ended - first.ended) / (last.at - first.at)) * 1000;
  }
}
