import { describe, expect, test } from 'vitest';
import { allowAll, tool, upstream } from '../support/gateway-project.ts';
import { threat } from '../support/gateway-threats.ts';
import { eventually } from '../support/waiting.ts';

describe(threat(17, 'output is bounded in size and time'), () => {
  const acts = [
    'silent',
    'drip',
    'progress',
    'huge',
    'many',
    'deep',
    'die',
    'garbage',
    'stranger',
    'surrogate',
    'act',
  ].map((name) => tool(name));
  const times = { timeout_ms: { '*': 1_500, huge: 20_000, many: 20_000 } };
  const expected: Readonly<Record<string, readonly [input: object, ended: RegExp, message: RegExp]>> = {
    silent: [{}, /^timeout timeout$/, /no answer within 1500 ms/],
    drip: [{}, /^timeout timeout$/, /no answer within 1500 ms/],
    progress: [{}, /^timeout timeout$/, /no answer within 1500 ms/],
    stranger: [{}, /^timeout timeout$/, /no answer within 1500 ms/],
    garbage: [{}, /^(timeout timeout|error (mcp_failed|connection_lost))$/, /./],
    huge: [{}, /^error oversize_output$/, /bytes/],
    many: [{}, /^error oversize_output$/, /bytes/],
    deep: [{}, /^(timeout timeout|error .+)$/, /./],
    die: [{}, /^error connection_lost$/, /ended before it answered/],
    surrogate: [{}, /^error invalid_output$/, /lone surrogate/],
  };

  test.each(Object.entries(expected))('%s', async (name, [input, ended, message]) => {
    await using project = await upstream([acts], allowAll(), times);
    const outcome = await project.call(`up.${name}`, input);

    expect(outcome.ended).toMatch(ended);
    expect(outcome.message).toMatch(message);
    const events = await project.events(outcome.run.tool_run_id);
    expect(events.slice(0, 3)).toEqual(['tool_called', 'policy_decided', 'tool_dispatched']);
    expect(events.at(-1)).toMatch(/^tool_(failed|timed_out)$/);
    // After whatever it did, the source answers the next call, or a later one: from a new process where the old one is gone or spoilt.
    const next = (await project.call('up.act', {})).ended;
    expect(next).toBe(name === 'drip' ? 'timeout timeout' : 'ok');
    if (next === 'ok') return;
    await eventually('an answer', async () => ((await project.call('up.act', {})).ended === 'ok' ? true : null));
  });

  test('an output within the bounds is cut for the caller, and kept whole with its digest', async () => {
    await using project = await upstream([acts], allowAll(), { max_output_bytes: 1_000 });
    const { ended, run, leg } = await project.call('up.huge', { bytes: 2_000_000 });
    expect(ended).toBe('ok');
    const text = JSON.stringify(leg.type === 'done' ? leg.output : null);
    expect(text.length).toBeLessThan(1_500);
    expect(text).toMatch(/cut by Proctor: the output has 2000\d\d\d? bytes, 1000 are shown; the whole is artifact/);
    expect(run.output_artifact).not.toBeNull();
    expect((await project.app.artifacts.get(run.output_artifact ?? '')).length).toBe(run.output_bytes);
  });

  test('so many items that they would hold everything up', async () => {
    await using project = await upstream([acts]);
    const { ended } = await project.call('up.many', { items: 400_000 });
    expect(ended).toMatch(/^(ok|error oversize_output)$/);
  });
});
