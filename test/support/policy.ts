import { policySchema } from '../../src/contract/policy.ts';
import { compilePolicy } from '../../src/core/policy/compile.ts';
import type { CallFacts } from '../../src/core/policy/facts.ts';
import { plainFolder } from '../../src/core/policy/paths.ts';

/** A call of `fs.write` by an agent, changed as said. */
export const call = (members: Partial<CallFacts> = {}): CallFacts => ({
  tool: 'fs.write',
  source: 'fs',
  arguments: { path: '/workspace/a.txt', content: 'hello' },
  principal: { id: 'agent:assistant', kind: 'agent', roles: ['writer'] },
  agent: null,
  risk: 'write',
  pinned: true,
  bound: false,
  tainted: false,
  surface: 'mcp',
  realPath: (path) => path,
  folder: (path) => folderBy(members.realPath ?? ((one) => one), path),
  sql: () => null,
  ...members,
});

/** Folders led where paths are; `./` is of `/project`. */
function folderBy(realPath: CallFacts['realPath'], name: string): ReturnType<CallFacts['folder']> {
  const path = plainFolder(name)?.replace(/^\.\/?/, '/project/') ?? null;
  const real = path === null ? null : realPath(path.replace(/(.)\/$/, '$1'));
  return path === null || real === null ? null : { path: path.replace(/(.)\/$/, '$1'), real };
}

/** The compiled policy of a document's members. */
export const policy = (document: unknown) => compilePolicy(policySchema.parse({ version: 1, ...(document as object) }));

/** A rule of tools of `fs`. */
export const rule = (id: string, effect: unknown, when: unknown = {}, tools: unknown = 'fs.*') => ({
  id,
  tools,
  when,
  effect,
});
