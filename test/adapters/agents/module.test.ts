import { describe, expect, it } from 'vitest';
import { module } from '../../../src/adapters/agents/module.ts';
import { envelope } from '../../../src/contract/agent.ts';
import { invokeOnce, openAgent } from './fixture.ts';

const at = (name?: string) => ({
  module: { path: 'fixtures/agent.ts', ...(name === undefined ? {} : { export: name }) },
});

describe('a module agent', () => {
  it('answers with the envelope or the text that its function returns', async () => {
    expect(await invokeOnce(module, at())).toEqual({
      type: 'envelope',
      envelope: envelope({ text: 'echo What is 2 + 2?', metadata: { case_id: 'case-1' } }),
    });
    expect(await invokeOnce(module, at('text'))).toEqual({
      type: 'envelope',
      envelope: envelope({ text: 'just text' }),
    });
  });

  it('is to blame for what its function throws, returns or never ends', async () => {
    const answers = [
      await invokeOnce(module, at('broken')),
      await invokeOnce(module, at('wrong')),
      await invokeOnce(module, at('exits')),
      await invokeOnce(module, at('forever'), { timeout_ms: 200 }),
    ];
    expect(
      answers.map((answer) =>
        answer.type === 'failure' ? [answer.fault, answer.code, answer.timed_out, answer.message] : answer,
      ),
    ).toEqual([
      ['agent', 'module_error', false, '`fixtures/agent.ts#broken` failed: the model is gone'],
      [
        'agent',
        'invalid_output',
        false,
        expect.stringContaining('the member `tool_calls` is not as the envelope has it'),
      ],
      [
        'agent',
        'module_error',
        false,
        '`fixtures/agent.ts#exits` failed: the module called process.exit(1); return or throw instead',
      ],
      ['agent', 'timeout', true, '`fixtures/agent.ts#forever` gave no answer within 200 ms'],
    ]);
  });

  it('is refused when it is opened without its module or export, and freezes its file', async () => {
    await expect(openAgent(module, at('absent'))).rejects.toThrow('has no export `absent`');
    await expect(openAgent(module, { module: { path: 'absent.ts' } })).rejects.toThrow(
      'the module `absent.ts` cannot be used',
    );
    expect(module.code(module.config.parse(at()), '.')).toEqual(['fixtures/agent.ts']);
  });
});
