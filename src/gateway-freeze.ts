import path from 'node:path';
import { loadPolicy } from './adapters/project/load-project.ts';
import type { App } from './app.ts';
import type { FrozenGateway } from './contract/gateway-profile.ts';
import { ProctorError } from './contract/problem.ts';
import type { Profile } from './contract/profile.ts';
import { openGatewayApp } from './gateway-app.ts';
import { globMatches } from './lib/glob.ts';

/** Freezes what a run's gated tools depend on: the policy, and the pinned definitions of the tools that the profile offers. */
export async function freezeGateway(
  app: App,
  { environment }: { readonly environment: Readonly<Record<string, string | undefined>> },
  { gateway }: Profile,
  base_dir: string,
): Promise<FrozenGateway | null> {
  if (gateway === undefined) return null;
  await using opened = await openGatewayApp(app, { environment, note: () => undefined });
  const policy =
    gateway.policy === undefined
      ? await opened.policy()
      : await loadPolicy(path.resolve(base_dir, gateway.policy), base_dir);
  if (policy === null)
    throw new ProctorError(
      'invalid_policy',
      `there is no policy at \`${gateway.policy}\`, which the profile's \`gateway.policy\` names`,
    );
  const { tools, problems } = await opened.gateway.catalogue(new AbortController().signal, true);
  const offered = (tool: string) =>
    gateway.tools === undefined || gateway.tools.some((glob) => globMatches(glob, tool));
  const down = problems.find(
    ({ source, tool }) =>
      tool === null &&
      (gateway.tools === undefined ||
        gateway.tools.some((glob) => glob.startsWith(`${source}.`) || glob.startsWith('*'))),
  );
  if (down !== undefined) throw new ProctorError('source_unavailable', down.message);
  const pins = new Map((await app.store.pins(null)).map((pin) => [`${pin.source}.${pin.name}`, pin.digest]));
  const frozen = tools.filter(({ tool, digest }) => offered(tool) && pins.get(tool) === digest);
  const missing = (gateway.tools ?? []).filter((glob) => !frozen.some(({ tool }) => globMatches(glob, tool)));
  if (missing.length > 0)
    throw new ProctorError(
      'invalid_profile',
      `no tool that may be called is named \`${missing.join('`, `')}\`, as the profile's \`gateway.tools\` has it; \`proctor tool ls\` lists them`,
    );
  return {
    policy_digest: policy.digest,
    policy: policy.document,
    tools: frozen.map(({ tool, digest }) => ({ tool, definition_digest: digest })),
  };
}
