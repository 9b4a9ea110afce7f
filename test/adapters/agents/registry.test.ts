import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { echo } from '../../../src/adapters/agents/echo.ts';
import { agentKindOf, agentKinds } from '../../../src/adapters/agents/index.ts';
import { envelope } from '../../../src/contract/agent.ts';
import { ProctorError } from '../../../src/contract/problem.ts';
import { agentRequest, invokeOnce } from './fixture.ts';

it('every agent kind has a file of its name', () => {
  const files = readdirSync(join(import.meta.dirname, '../../../src/adapters/agents'));
  expect(agentKinds.map((kind) => kind.kind)).toEqual(['http', 'command', 'module', 'replay', 'echo']);
  for (const { kind } of agentKinds) expect(files).toContain(`${kind}.ts`);
});

it('a kind is found by its name; one that is to come is unsupported, any other is an invalid profile', () => {
  expect(agentKindOf('echo')).toBe(echo);
  const code = (kind: string) => {
    try {
      return agentKindOf(kind).kind;
    } catch (error) {
      return ProctorError.is(error) ? [error.code, error.message] : error;
    }
  };
  const known = 'this version has `http`, `command`, `module`, `replay`, `echo`';
  expect(code('workflow')).toEqual(['unsupported', `the agent kind \`workflow\` arrives in a later version; ${known}`]);
  expect(code('runtime')).toEqual(['unsupported', `the agent kind \`runtime\` arrives in a later version; ${known}`]);
  expect(code('htpp')).toEqual(['invalid_profile', `there is no agent kind \`htpp\`; ${known}`]);
});

it('the echo agent answers with its input as text', async () => {
  expect(await invokeOnce(echo, {}, { request: agentRequest('as it is') })).toEqual({
    type: 'envelope',
    envelope: envelope({ text: 'as it is' }),
  });
  expect(await invokeOnce(echo, {}, { request: agentRequest({ b: [1], a: null }) })).toEqual({
    type: 'envelope',
    envelope: envelope({ text: '{"a":null,"b":[1]}' }),
  });
});
