import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { replay } from '../../../src/adapters/agents/replay.ts';
import { envelope } from '../../../src/contract/agent.ts';
import { agentRequest, invokeOnce, openAgent } from './fixture.ts';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'proctor-replay-test-'));
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

async function record(rows: readonly unknown[], name = 'recording.jsonl'): Promise<object> {
  const text = rows.map((row) => (typeof row === 'string' ? row : JSON.stringify(row))).join('\n');
  await writeFile(join(folder, name), name.endsWith('.gz') ? gzipSync(text) : text);
  return { path: name };
}

const play = async (options: object, caseId: string, repeat = 1) => {
  const answer = await invokeOnce(
    replay,
    { replay: options },
    { request: agentRequest('x', caseId), repeat, base_dir: folder },
  );
  return answer.type === 'envelope' ? answer.envelope : [answer.fault, answer.code, answer.message];
};

describe('a replay', () => {
  it('answers with the envelope recorded for the case and repeat', async () => {
    const options = await record([
      { case_id: 'a', envelope: { text: 'é1' } },
      '',
      { case_id: 'b', repeat: 2, envelope: { structured: { n: 1 } } },
      { case_id: 'a', envelope: { text: 'a2' } },
    ]);
    expect(await play(options, 'a')).toEqual(envelope({ text: 'é1' }));
    expect(await play(options, 'a', 2)).toEqual(envelope({ text: 'a2' }));
    expect(await play(options, 'b', 2)).toEqual(envelope({ structured: { n: 1 } }));
  });

  it('reads predictions of the usual benchmarks, compressed too, and leaves no file behind', async () => {
    const rows = [
      { task_id: 'HumanEval/0', completion: '  return 1' },
      { instance_id: 'a__b-1', model_name_or_path: 'm', model_patch: 'diff' },
      { id: 7, output: { n: 1 } },
      { case_id: 'none', model_patch: null },
    ];
    const before = (await readdir(tmpdir())).filter(
      (name) => name.startsWith('proctor-replay-') && !folder.endsWith(name),
    );
    const options = await record(rows, 'predictions.jsonl.gz');
    expect(await Promise.all(['HumanEval/0', 'a__b-1', '7', 'none'].map((id) => play(options, id)))).toEqual([
      envelope({ text: '  return 1' }),
      envelope({ text: 'diff' }),
      envelope({ text: '{"n":1}' }),
      envelope({}),
    ]);
    expect(
      (await readdir(tmpdir())).filter((name) => name.startsWith('proctor-replay-') && !folder.endsWith(name)),
    ).toEqual(before);
  });

  it('takes the text from a pointer when one is given', async () => {
    const options = { ...(await record([{ id: 'a', out: { answer: 'deep' }, text: 'shallow' }])), text: '/out/answer' };
    expect(await play(options, 'a')).toEqual(envelope({ text: 'deep' }));
  });

  it('finds each of many recordings again', async () => {
    const rows = Array.from({ length: 5_000 }, (_, index) => ({
      case_id: `case-${index}`,
      text: `${'ü'.repeat(index % 700)}${index}`,
    }));
    await using agent = await openAgent(replay, { replay: await record(rows, 'many.jsonl') }, folder);
    const answers = await Promise.all(
      [0, 1, 699, 2_500, 4_999].map((index) =>
        agent.invoke(agentRequest('x', `case-${index}`), {
          repeat: 1,
          timeout_ms: 1_000,
          signal: new AbortController().signal,
        }),
      ),
    );
    expect(answers).toEqual(
      [0, 1, 699, 2_500, 4_999].map((index) => ({
        type: 'envelope',
        envelope: envelope({ text: rows[index]?.text ?? '' }),
      })),
    );
  });

  it('without a recording is the agent’s failure and names the cure', async () => {
    const options = await record([{ case_id: 'a', text: '1' }]);
    expect(await play(options, 'b')).toEqual([
      'agent',
      'no_recording',
      '`recording.jsonl` records nothing for case `b`, and repeat 1 was asked for; record it, or select other cases or fewer repeats',
    ]);
    expect(await play(options, 'a', 3)).toEqual([
      'agent',
      'no_recording',
      '`recording.jsonl` records only repeat 1 for case `a`, and repeat 3 was asked for; record it, or select other cases or fewer repeats',
    ]);
  });

  it.each([
    [
      ['{"case_id": "a", "text": "1"}', '{"case_id":'],
      /^line 2 of the recording `bad\.jsonl` cannot be used: it is not JSON/,
    ],
    [['[1]'], /it is not a JSON object/],
    [['{"text": "1"}'], /it names no case; give it one of `case_id`, `instance_id`, `task_id`, `id`/],
    [['{"case_id": "a"}'], /it holds no `output`, `completion`/],
    [['{"case_id": "a", "repeat": 0, "text": ""}'], /`repeat` is not a whole number from 1/],
    [
      ['{"case_id": "a", "repeat": 1, "text": ""}', '{"case_id": "a", "repeat": 1, "text": ""}'],
      /line 2 .* case `a` has repeat 1 twice/,
    ],
  ])('of %j is refused when it is opened', async (rows, message) => {
    await expect(openAgent(replay, { replay: await record(rows, 'bad.jsonl') }, folder)).rejects.toThrow(message);
  });

  it('of a file that is not there is refused when it is opened', async () => {
    await expect(openAgent(replay, { replay: { path: 'absent.jsonl' } }, folder)).rejects.toThrow(
      'the recording `absent.jsonl` does not exist',
    );
    await writeFile(join(folder, 'no.jsonl.gz'), 'not gzip');
    await expect(openAgent(replay, { replay: { path: 'no.jsonl.gz' } }, folder)).rejects.toThrow(
      'incorrect header check',
    );
  });
});
