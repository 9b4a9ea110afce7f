import type { z } from 'zod';
import { type Diagnostic, diagnostic, ProctorError } from '../../contract/problem.ts';
import { type DeclaredSource, type ProjectSource, SOURCE_BASE_MEMBERS } from '../../contract/project.ts';
import type { ToolSourceContext, ToolSourceKind } from '../../contract/tool.ts';
import { zodDiagnostics } from '../profiles/zod-diagnostics.ts';
import { fieldOf } from '../yaml/placed-document.ts';
import { commandTools } from './command.ts';
import { mcpTools } from './mcp.ts';
import { moduleTools } from './module.ts';
import { openapiTools } from './openapi.ts';

/** The kinds of tool sources: a new one is one file and one line. */
export const toolSourceKinds: readonly ToolSourceKind[] = [
  moduleTools as unknown as ToolSourceKind,
  commandTools as unknown as ToolSourceKind,
  mcpTools as unknown as ToolSourceKind,
  openapiTools as unknown as ToolSourceKind,
];

function kindOf(kind: string): ToolSourceKind | null {
  return toolSourceKinds.find((one) => one.kind === kind) ?? null;
}

function membersOf(source: ProjectSource): Record<string, unknown> {
  return Object.fromEntries(Object.entries(source).filter(([key]) => !SOURCE_BASE_MEMBERS.includes(key)));
}

/** What is wrong with the sources of a project, by field. */
export function sourceProblems(sources: Readonly<Record<string, ProjectSource>>, localCommands: boolean): Diagnostic[] {
  return Object.entries(sources).flatMap(([name, source]) => {
    const field = `tools.${name}`;
    const kind = kindOf(source.kind);
    if (kind === null)
      return [
        diagnostic(`there is no kind of tool source \`${source.kind}\``, {
          field: `${field}.kind`,
          hint: `one of: ${toolSourceKinds.map((one) => one.kind).join(', ')}`,
        }),
      ];
    const refused =
      source.kind === 'command' && !localCommands
        ? [
            diagnostic('`command` tools run on this machine, outside of any sandbox', {
              field: `${field}.kind`,
              hint: 'write `local_commands: true` at the top of the file if that is meant',
            }),
          ]
        : [];
    return [
      ...refused,
      ...zodDiagnostics(kind.config, membersOf(source)).map(({ path, diagnostic: item }) => ({
        ...item,
        field: [field, fieldOf(path)].filter((part) => part !== null).join('.'),
      })),
    ];
  });
}

function isOwn({ own }: ToolSourceKind, config: unknown): boolean {
  return typeof own === 'function' ? own(config) : own;
}

/** The sources of a project that has no problems. */
export function declaredSources(
  sources: Readonly<Record<string, ProjectSource>>,
  context: Omit<ToolSourceContext<unknown>, 'name' | 'config' | 'changed' | 'relay'>,
): DeclaredSource[] {
  return Object.entries(sources).map(([name, source]) => {
    const kind = kindOf(source.kind);
    if (kind === null) throw new ProctorError('invalid_project', `there is no kind of tool source \`${source.kind}\``);
    const config = kind.config.parse(membersOf(source)) as z.output<typeof kind.config>;
    return {
      name,
      options: source,
      own: source.pin === undefined ? isOwn(kind, config) : source.pin === 'own',
      open: (changed) => kind.open({ ...context, name, config, changed, relay: source.relay }),
    };
  });
}
