import { loadProfile } from '../../adapters/profiles/load-profile.ts';
import type { App } from '../../app.ts';
import { ProctorError } from '../../contract/problem.ts';
import type { DeliveryFilter, DeliveryRow } from '../../contract/store.ts';
import { instant } from '../../core/instant.ts';
import { keepPublishing, publishDue, sendTest, told } from '../../engine/publish.ts';
import { findRun } from '../../engine/run.ts';
import { newId } from '../../lib/id.ts';
import type { Command, CommandContext } from '../context.ts';
import { counted, table } from '../format.ts';
import { printable } from '../output.ts';
import { onInterrupt } from '../signals.ts';

interface WebhooksOptions {
  readonly action: string;
  readonly profile?: string;
  readonly run?: string;
  readonly status?: string;
  readonly endpoint?: string;
  readonly limit: number;
  readonly watch?: boolean;
}

type Action = (context: CommandContext, app: App, options: WebhooksOptions) => Promise<number>;

/** `proctor webhooks list|replay|deliver|test`: what is told to endpoints, and what became of it. */
export const webhooks: Command<WebhooksOptions> = async (context, options) => {
  const action = ACTIONS[options.action];
  if (action === undefined)
    throw new ProctorError(
      'usage',
      `there is no \`webhooks ${options.action}\`; the actions are ${Object.keys(ACTIONS).join(', ')}`,
    );
  if (options.profile !== undefined && options.action !== 'test')
    throw new ProctorError(
      'usage',
      `\`webhooks ${options.action}\` takes no \`${options.profile}\`; its options choose the deliveries`,
    );
  await using app = await context.openApp({ existing: options.action !== 'test' });
  return await action(context, app, options);
};

const STATUSES = ['pending', 'published', 'failed', 'dead'];

const list: Action = async ({ output }, app, options) => {
  if (options.status !== undefined && !STATUSES.includes(options.status))
    throw new ProctorError('usage', `\`--status\` is \`${options.status}\`; it must be one of ${STATUSES.join(', ')}`);
  const rows = await app.store.deliveries(await filterOf(app, options), { after: null, limit: options.limit });
  if (output.json) for (const row of rows) output.line(documentOf(row), '');
  else if (rows.length === 0) output.result(null, 'no deliveries');
  else output.result(null, listText(rows));
  return 0;
};

const replay: Action = async ({ output }, app, options) => {
  const replayed = await app.store.replayDeliveries(await filterOf(app, options));
  output.result({ replayed }, `${counted(replayed, 'dead delivery', 'dead deliveries')} put back to be sent`);
  return 0;
};

const deliver: Action = async ({ output }, app, options) => {
  using interruption = onInterrupt(output, () => undefined);
  if (options.watch) {
    output.note('proctor: sending what falls due; ctrl-c to stop');
    await keepPublishing(app, interruption.drain, (error) =>
      output.note(`proctor: webhooks wait: ${error instanceof Error ? error.message : String(error)}`),
    );
    return interruption.exitCode() ?? 0;
  }
  const tries = await publishDue(app, interruption.drain);
  const count = async (status: string) =>
    (await app.store.deliveries({ status }, { after: null, limit: 10_000 })).length;
  const document = { tries, waiting: (await count('failed')) + (await count('pending')), dead: await count('dead') };
  output.result(document, `${counted(tries, 'try', 'tries')}; ${document.waiting} waiting, ${document.dead} dead`);
  return 0;
};

const test: Action = async ({ output, cwd }, app, options) => {
  if (options.profile === undefined) throw new ProctorError('usage', 'which profile? `proctor webhooks test PROFILE`');
  const { profile } = await loadProfile(options.profile, cwd);
  if (profile.webhooks.length === 0) throw new ProctorError('usage', `\`${options.profile}\` has no webhooks`);
  let code = 0;
  for (const webhook of profile.webhooks) {
    app.webhooks.check(webhook);
    const outcome = await sendTest(app, webhook, newId('evt', app.clock.now()));
    const ok = outcome.type === 'response' && outcome.status >= 200 && outcome.status < 300;
    if (!ok) code = 1;
    output.line(
      {
        endpoint: webhook.url,
        ok,
        status: outcome.type === 'response' ? outcome.status : null,
        error: ok ? null : told(outcome),
      },
      `${ok ? output.style('green', '✓') : output.style('red', '✗')} ${printable(webhook.url)}  ${printable(told(outcome))}`,
    );
  }
  return code;
};

const ACTIONS: Readonly<Record<string, Action>> = { list, replay, deliver, test };

async function filterOf(app: App, options: WebhooksOptions): Promise<DeliveryFilter> {
  return {
    ...(options.run === undefined ? {} : { run_id: (await findRun(app.store, options.run)).run_id }),
    ...(options.status === undefined ? {} : { status: options.status }),
    ...(options.endpoint === undefined ? {} : { endpoint: options.endpoint }),
  };
}

function documentOf(row: DeliveryRow) {
  const { next_at, created_at, ...rest } = row;
  const waits = row.status === 'pending' || row.status === 'failed';
  return { ...rest, next_at: waits ? instant(next_at) : null, created_at: instant(created_at) };
}

function listText(rows: readonly DeliveryRow[]): string {
  return table(
    rows.map((row) => [
      row.status,
      row.run_id,
      row.type,
      printable(row.endpoint),
      counted(row.attempts, 'try', 'tries'),
      row.status === 'failed' ? `next ${instant(row.next_at)}` : '',
      printable(row.last_error ?? (row.last_status === null ? '' : `status ${row.last_status}`)),
    ]),
  );
}
