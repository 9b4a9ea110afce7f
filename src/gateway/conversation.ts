import type { ToolConversation } from '../contract/tool.ts';
import { randomText } from '../lib/id.ts';

/** A question that a running tool has for the caller's person. */
export interface Question {
  readonly id: string;
  readonly method: string;
  readonly params: unknown;
}

/** What a tool tells while it runs, for the caller that waits. */
export interface Listener {
  progress(progress: number, total: number | null, message: string | null): void;
  log(level: string, data: unknown, logger: string | null): void;
}

/** The conversation of one call: what the tool tells goes to who listens now, what it asks waits until the caller has answered. */
export class Conversation implements ToolConversation {
  listener: Listener | null = null;
  readonly #relayed: readonly string[];
  readonly #open = new Map<string, { question: Question; resolve(value: unknown): void; reject(error: Error): void }>();
  #asked: () => void = () => undefined;

  /** `relayed` are the methods that may be asked. */
  constructor(relayed: readonly string[]) {
    this.#relayed = relayed;
  }

  progress(progress: number, total: number | null, message: string | null): void {
    this.listener?.progress(progress, total, message);
  }

  log(level: string, data: unknown, logger: string | null): void {
    this.listener?.log(level, data, logger);
  }

  ask(method: string, params: unknown, signal: AbortSignal): Promise<unknown> {
    if (!this.#relayed.includes(method))
      return Promise.reject(new Error(`\`${method}\` is not handed on by this gateway`));
    return new Promise((resolve, reject) => {
      const id = `q_${randomText(12)}`;
      const settle = () => this.#open.delete(id);
      const onAbort = () => {
        settle();
        reject(new Error('the call was stopped before the question was answered'));
      };
      signal.addEventListener('abort', onAbort, { once: true });
      this.#open.set(id, {
        question: { id, method, params },
        resolve: (value) => {
          signal.removeEventListener('abort', onAbort);
          settle();
          resolve(value);
        },
        reject,
      });
      this.#asked();
    });
  }

  /** The questions that wait for an answer. */
  get questions(): readonly Question[] {
    return [...this.#open.values()].map(({ question }) => question);
  }

  /** Answers a question; false when it is not open (any more). */
  answer(id: string, value: unknown): boolean {
    const open = this.#open.get(id);
    open?.resolve(value);
    return open !== undefined;
  }

  /** Resolves when a question is asked, or has been. */
  whenAsked(): Promise<void> {
    if (this.#open.size > 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#asked = resolve;
    });
  }
}
