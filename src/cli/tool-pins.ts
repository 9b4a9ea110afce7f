import type { App } from '../app.ts';
import { ProctorError } from '../contract/problem.ts';
import { visible } from '../core/approval-preview.ts';
import type { GatewayApp } from '../gateway-app.ts';
import { canonicalJson, digest } from '../lib/canonical-json.ts';
import type { Output } from './output.ts';
import { printable } from './output.ts';

/** What stands about one tool's definition. */
export interface PinChange {
  readonly tool: string;
  readonly state: 'pinned' | 'new' | 'changed' | 'gone';
  readonly definition_digest: string | null;
  readonly pinned_digest: string | null;
  /** Members that differ from the pinned definition, as they were and as they are. */
  readonly differences: readonly { readonly member: string; readonly before: unknown; readonly now: unknown }[];
}

/** Refuses a name that is neither a source nor a tool that is there or was pinned: a switch with a slip in its name would stop nothing. */
export async function assertScope({ gateway, loaded }: GatewayApp, app: App, scope: string): Promise<void> {
  const [source = '', ...rest] = scope.split('.');
  if (!Object.hasOwn(loaded.project.tools, source))
    throw new ProctorError(
      'not_found',
      `there is no tool source \`${source}\`; without a name the whole gateway is meant`,
    );
  if (rest.length === 0 || (await app.store.pins(source)).some(({ name }) => name === rest.join('.'))) return;
  const { tools } = await gateway.catalogue(new AbortController().signal, true);
  if (!tools.some(({ tool }) => tool === scope))
    throw new ProctorError(
      'not_found',
      `there is no tool \`${scope}\`; \`proctor tool ls\` lists them, and \`${source}\` alone means all of the source`,
    );
}

/** Stands for what was shown: the definitions that are pinned only if they are still these. */
function digestOfChanges(changes: readonly PinChange[]): string {
  const shown = changes.map(({ tool, definition_digest }) => [tool, definition_digest] as const);
  return digest('proctor/shown_definitions/1', shown).slice(0, 16);
}

/** Looks at the definitions of a source or a tool, and pins them as they are now when `yes`; with `seen`, only if they are what that digest stood for. */
export async function pinTools(
  { gateway, loaded }: GatewayApp,
  app: App,
  scope: string,
  { yes, seen }: { readonly yes: boolean; readonly seen: string | undefined },
): Promise<PinChange[]> {
  const [source = ''] = scope.split('.', 1);
  if (!Object.hasOwn(loaded.project.tools, source))
    throw new ProctorError('not_found', `there is no tool source \`${source}\` in proctor.yaml`);
  const { tools, problems } = await gateway.catalogue(new AbortController().signal, true);
  const down = problems.find((problem) => problem.source === source && problem.tool === null);
  if (down !== undefined) throw new ProctorError('source_unavailable', down.message);
  const meant = tools.filter((one) => one.source.name === source && (scope === source || one.tool === scope));
  const pins = new Map((await app.store.pins(source)).map((pin) => [pin.name, pin.digest]));
  if (meant.length === 0 && scope !== source && !pins.has(scope.slice(source.length + 1)))
    throw new ProctorError('not_found', `there is no tool \`${scope}\`; \`proctor tool ls\` lists them`);
  const changes: PinChange[] = [];
  for (const { tool, definition, digest } of meant) {
    const pinned = pins.get(definition.name) ?? null;
    const state = pinned === digest ? 'pinned' : pinned === null ? 'new' : 'changed';
    const before = pinned === null ? null : await app.store.definition(source, definition.name, pinned);
    const differences =
      state === 'pinned'
        ? []
        : compared(before === null ? {} : (JSON.parse(before) as object), definition.raw as object);
    changes.push({ tool, state, definition_digest: digest, pinned_digest: pinned, differences });
  }
  for (const [name, pinned] of pins) {
    const tool = `${source}.${name}`;
    if (pinned === null || tools.some((one) => one.tool === tool) || (scope !== source && scope !== tool)) continue;
    changes.push({ tool, state: 'gone', definition_digest: null, pinned_digest: pinned, differences: [] });
  }
  const digest = digestOfChanges(changes);
  if (seen !== undefined && seen !== digest)
    throw new ProctorError(
      'illegal_transition',
      `\`${scope}\` does not show what ${seen} stood for, but ${digest}; nothing was pinned: look at it again with \`proctor tool pin ${scope}\``,
    );
  if (yes)
    for (const { tool, state, definition_digest } of changes)
      if (state !== 'pinned')
        await app.store.pinTool(source, tool.slice(source.length + 1), definition_digest, app.principal);
  return changes;
}

function compared(before: object, now: object): PinChange['differences'] {
  // The stored one has its members in canonical order: the one of now is brought into it, so that only what differs is shown.
  const was = before as Record<string, unknown>;
  const is = JSON.parse(canonicalJson(now)) as Record<string, unknown>;
  return [...new Set([...Object.keys(was), ...Object.keys(is)])]
    .sort()
    .filter((member) => JSON.stringify(was[member]) !== JSON.stringify(is[member]))
    .map((member) => ({ member, before: was[member] ?? null, now: is[member] ?? null }));
}

/** The definitions for a person: what is new, what has changed and how, and how to let it be called. */
export function definitionsText(changes: readonly PinChange[], output: Output, yes: boolean): string {
  const lines = changes.flatMap((change) => {
    const head = `${output.style(change.state === 'pinned' ? 'green' : 'yellow', yes && change.state !== 'pinned' ? 'pinned now' : change.state)} ${printable(change.tool)}`;
    return [
      head,
      ...change.differences.flatMap(({ member, before, now }) => [
        ...(before === null ? [] : [`    - ${printable(member)}: ${visible(JSON.stringify(before))}`]),
        ...(now === null ? [] : [`    + ${printable(member)}: ${visible(JSON.stringify(now))}`]),
      ]),
    ];
  });
  const open = changes.some((change) => change.state !== 'pinned');
  return [
    ...lines,
    ...(open && !yes
      ? [
          '',
          `nothing is pinned yet; with --yes --seen ${digestOfChanges(changes)} these definitions are, and no others`,
        ]
      : []),
  ].join('\n');
}
