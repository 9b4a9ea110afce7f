import type { App } from '../app.ts';
import type { GatewayApp } from '../gateway-app.ts';
import type { CommandContext } from './context.ts';
import { oneLine } from './tool-text.ts';

/** Opens the project's store and gateway for one command, and closes both after it. */
export async function withGateway(
  context: CommandContext,
  work: (gateway: GatewayApp, app: App) => Promise<number>,
): Promise<number> {
  await using app = await context.openApp();
  const { openGatewayApp } = await import('../gateway-app.ts');
  await using gateway = await openGatewayApp(app, {
    environment: context.environment,
    note: (text) => context.output.note(`proctor: ${oneLine(text.trimEnd())}`),
  });
  return await work(gateway, app);
}
