import { ProctorError } from '../contract/problem.ts';
import type { GatewayApp } from '../gateway-app.ts';
import type { CommandContext } from './context.ts';
import { onInterrupt } from './signals.ts';
import { oneLine } from './tool-text.ts';

const SIGN_IN_MS = 300_000;

/** `proctor tool login SOURCE`: shows the page to sign in at and waits until the person has come back from it. */
export async function logIn(
  { output }: Pick<CommandContext, 'output'>,
  { gateway }: GatewayApp,
  name: string,
): Promise<number> {
  const declared = gateway.deps.sources.find((source) => source.name === name);
  if (declared === undefined)
    throw new ProctorError('not_found', `there is no tool source \`${name}\`; \`tools:\` in proctor.yaml names them`);
  const source = await declared.open(() => undefined);
  try {
    if (source.signIn === undefined)
      throw new ProctorError('usage', `\`${name}\` has no sign-in; an MCP server by \`url\` with \`oauth:\` has one`);
    using interruption = onInterrupt(output, () => undefined);
    const outcome = await source.signIn({
      show: (url) =>
        output.note(`proctor: sign in to ${name} here, and leave this command running:\n  ${oneLine(url)}`),
      signal: interruption.drain,
      timeout_ms: SIGN_IN_MS,
    });
    const told = { signed_in: 'signed in', not_needed: 'it answers already; no sign-in is wanted' }[outcome];
    output.result({ source: name, outcome }, `${name}: ${told}`);
    return 0;
  } finally {
    await source.close();
  }
}
