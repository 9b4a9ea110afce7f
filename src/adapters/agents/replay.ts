import { resolve } from 'node:path';
import { z } from 'zod';
import { type AgentAnswer, type AgentKind, agentFailure, envelope } from '../../contract/agent.ts';
import { pointerValue } from '../../lib/json-pointer.ts';
import { isRecord, jsonFlaw, type ParsedEnvelope, parseEnvelope } from './envelope-parse.ts';
import { openReplayIndex, type ReplayKey } from './replay-index.ts';

const config = z.strictObject({
  replay: z.strictObject({
    path: z.string().min(1).describe('.jsonl or .jsonl.gz of recordings, relative to the profile'),
    format: z
      .enum(['envelopes', 'predictions'])
      .optional()
      .describe('Default: envelopes for lines with `envelope`, else predictions'),
    text: z.string().optional().describe('JSON pointer to the text of a prediction'),
  }),
});
type Replay = z.output<typeof config>['replay'];

const ID_MEMBERS = ['case_id', 'instance_id', 'task_id', 'id'];
const TEXT_MEMBERS = ['output', 'completion', 'prediction', 'model_patch', 'text'];

/** Agent kind `replay`: answers with what was recorded for the case and repeat; the n-th line of a case is its repeat n. */
export const replay: AgentKind<typeof config> = {
  kind: 'replay',
  config,
  code: ({ replay: { path } }) => [path],
  async open(context) {
    const { replay: options } = context.config;
    const index = await openReplayIndex(resolve(context.base_dir, options.path), options.path, (row) =>
      keyOf(row, options),
    );
    return {
      async invoke(request, { signal, repeat }): Promise<AgentAnswer> {
        if (signal.aborted) return agentFailure('infrastructure', 'aborted', 'the call was aborted');
        const row = await index.read(request.case.case_id, repeat);
        if (row === undefined)
          return missing(options.path, request.case.case_id, repeat, index.repeatsOf(request.case.case_id));
        const parsed = recorded(row, options);
        if (parsed.type === 'envelope') return parsed;
        return agentFailure(
          'agent',
          'invalid_recording',
          `the recording of case \`${request.case.case_id}\` in \`${options.path}\` is not an envelope: ${parsed.problem}`,
        );
      },
      close: () => index.close(),
    };
  },
};

function keyOf(row: unknown, options: Replay): ReplayKey {
  if (!isRecord(row)) return { problem: 'it is not a JSON object' };
  const id = ID_MEMBERS.map((member) => row[member]).find((value) => value !== undefined && value !== null);
  if (typeof id !== 'string' && typeof id !== 'number')
    return { problem: `it names no case; give it one of ${shown(ID_MEMBERS)}` };
  const repeat = row['repeat'] ?? null;
  if (repeat !== null && !(typeof repeat === 'number' && Number.isInteger(repeat) && repeat >= 1))
    return { problem: '`repeat` is not a whole number from 1' };
  if (isEnvelopeLine(row, options) ? !('envelope' in row) : textOf(row, options) === undefined) {
    return {
      problem: `it holds no ${isEnvelopeLine(row, options) ? '`envelope`' : (options.text ?? shown(TEXT_MEMBERS))}`,
    };
  }
  return { case_id: String(id), repeat };
}

function recorded(row: unknown, options: Replay): ParsedEnvelope {
  if (!isRecord(row)) return { type: 'problem', problem: 'it is not a JSON object' };
  if (isEnvelopeLine(row, options)) return parseEnvelope(row['envelope']);
  const flaw = jsonFlaw(row);
  if (flaw !== null) return { type: 'problem', problem: flaw };
  const text = textOf(row, options);
  return {
    type: 'envelope',
    envelope: envelope({ text: typeof text === 'string' ? text : text === null ? null : JSON.stringify(text) }),
  };
}

function isEnvelopeLine(row: Readonly<Record<string, unknown>>, options: Replay): boolean {
  return options.format === undefined
    ? options.text === undefined && isRecord(row['envelope'])
    : options.format === 'envelopes';
}

function textOf(row: Readonly<Record<string, unknown>>, options: Replay): unknown {
  if (options.text !== undefined) return pointerValue(row, options.text);
  const member = TEXT_MEMBERS.find((name) => Object.hasOwn(row, name));
  return member === undefined ? undefined : row[member];
}

function missing(path: string, caseId: string, repeat: number, repeats: readonly number[]): AgentAnswer {
  const what = repeats.length === 0 ? 'nothing' : `only repeat ${repeats.join(', ')}`;
  return agentFailure(
    'agent',
    'no_recording',
    `\`${path}\` records ${what} for case \`${caseId}\`, and repeat ${repeat} was asked for; record it, or select other cases or fewer repeats`,
  );
}

function shown(members: readonly string[]): string {
  return members.map((member) => `\`${member}\``).join(', ');
}
