import type { App, AppOptions } from '../app.ts';
import type { Secrets } from '../core/redaction/secrets.ts';
import type { Output } from './output.ts';

/** What every command gets: its output, where it runs, and the application when it needs one. */
export interface CommandContext extends AppOptions {
  /** The secrets of this process. */
  readonly secrets: Secrets;
  readonly output: Output;
  /** Opens store, artifacts and plug-ins; only commands that need them pay for it. `existing`: not with a new store; `writes`: not to look at one. */
  openApp(options?: { readonly existing?: boolean; readonly writes?: boolean }): Promise<App>;
}

/** A command: takes its arguments and options, answers its exit code. */
export type Command<Options> = (context: CommandContext, options: Options) => Promise<number>;
