import { type CallerAbilities, LackingCapability, type ToolConversation } from '../contract/tool.ts';
import { randomText } from '../lib/id.ts';

/** A question that a running tool has for the caller's person. */
export interface Question {
  readonly id: string;
  readonly method: string;
  readonly params: unknown;
}

/** What a tool tells while it runs, for the caller that waits. */
export interface Listener {
  readonly abilities: CallerAbilities;
  progress(progress: number, total: number | null, message: string | null): void;
  log(level: string, data: unknown, logger: string | null): void;
}

/** The questions that may be handed on, with the capability that a caller answers them by. */
const CAPABILITIES: Readonly<Record<string, string>> = {
  'elicitation/create': 'elicitation',
  'sampling/createMessage': 'sampling',
  'roots/list': 'roots',
};
const NO_ABILITIES: CallerAbilities = { capabilities: {}, log_level: null };
const MOST_NAME = 100;

/** The conversation of one call: what the tool tells goes to who listens now, what it asks waits until the caller has answered. */
export class Conversation implements ToolConversation {
  /** Names of the capabilities whose questions the operator lets through. */
  relay: readonly string[] = [];
  #listener: Listener | null = null;
  #abilities = NO_ABILITIES;
  readonly #open = new Map<string, { question: Question; resolve(value: unknown): void; reject(error: Error): void }>();
  readonly #offered = new Map<string, unknown>();
  readonly #asked = new Set<() => void>();

  /** Who listens from now on; what it can answer holds until another one comes. */
  listen(listener: Listener | null): void {
    this.#listener = listener;
    if (listener !== null) this.#abilities = listener.abilities;
  }

  /** Nobody listens any more, if this one still did. */
  unlisten(listener: Listener | undefined): void {
    if (this.#listener === listener) this.#listener = null;
  }

  get abilities(): CallerAbilities {
    return this.#abilities;
  }

  progress(progress: number, total: number | null, message: string | null): void {
    this.#listener?.progress(progress, total, message);
  }

  log(level: string, data: unknown, logger: string | null): void {
    this.#listener?.log(level, data, logger);
  }

  ask(method: string, params: unknown, signal: AbortSignal, name?: string): Promise<unknown> {
    const capability = CAPABILITIES[method];
    if (capability === undefined || !this.relay.includes(capability))
      return Promise.reject(new Error(`\`${method}\` is not handed on by this gateway`));
    if (!Object.hasOwn(this.#abilities.capabilities, capability))
      return Promise.reject(new LackingCapability(capability, method));
    const usable = name !== undefined && name.length <= MOST_NAME && !this.#open.has(name);
    const id = usable ? name : `q_${randomText(12)}`;
    const offered = this.#offered.get(id);
    if (this.#offered.delete(id)) return Promise.resolve(offered);
    if (signal.aborted) return Promise.reject(new Error('the call was stopped before the question was asked'));
    return new Promise((resolve, reject) => {
      const onAbort = () => {
        this.#open.delete(id);
        reject(new Error('the call was stopped before the question was answered'));
      };
      signal.addEventListener('abort', onAbort, { once: true });
      this.#open.set(id, {
        question: { id, method, params },
        resolve: (value) => {
          signal.removeEventListener('abort', onAbort);
          this.#open.delete(id);
          resolve(value);
        },
        reject,
      });
      for (const told of this.#asked) told();
      this.#asked.clear();
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

  /** An answer that came along with the call itself: to the first question of that name. */
  offer(id: string, value: unknown): void {
    this.#offered.set(id, value);
  }

  /** Resolves when a question is asked, or has been. */
  whenAsked(): Promise<void> {
    if (this.#open.size > 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#asked.add(resolve);
    });
  }
}
