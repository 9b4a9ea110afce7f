import type { App } from '../app.ts';
import type { RunRow } from '../contract/store.ts';
import { readSnapshot } from '../engine/run-context.ts';

/** What a person says about a run, as it may be kept: without the secrets that its profile refers to, as far as they are set here. */
export async function said(app: App, run: RunRow, text: string): Promise<string> {
  const { profile } = await readSnapshot(app.store, run);
  app.secrets.learn(profile);
  return app.secrets.text(text);
}
