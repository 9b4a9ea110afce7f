import { policySchema } from '../../src/contract/policy.ts';
import { compilePolicy } from '../../src/core/policy/compile.ts';
import type { CallFacts } from '../../src/core/policy/facts.ts';

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
  ...members,
});

/** The compiled policy of a document's members. */
export const policy = (document: unknown) => compilePolicy(policySchema.parse({ version: 1, ...(document as object) }));

/** A rule of tools of `fs`. */
export const rule = (id: string, effect: unknown, when: unknown = {}, tools: unknown = 'fs.*') => ({
  id,
  tools,
  when,
  effect,
});
