import { stripVTControlCharacters } from 'node:util';
import { type AgentAnswer, type AgentRequest, envelope } from '../../contract/agent.ts';

type Options = Readonly<Record<string, unknown>>;

/** The arguments that promptfoo puts behind an `exec:` command: the prompt, the provider's options and the context, both as JSON. */
export function execArguments(request: AgentRequest, options: Options): string[] {
  const { input, metadata } = request.case;
  const prompt = typeof input === 'string' ? input : JSON.stringify(input);
  const context = { vars: metadata['vars'] ?? {}, prompt: { raw: prompt, label: prompt } };
  return [prompt, JSON.stringify(options), JSON.stringify(context)];
}

/** What promptfoo reads of a program that ended well: its text without colours and surrounding white space; null where it only complained. */
export function execAnswer(stdout: string, stderr: string): AgentAnswer | null {
  const text = stripVTControlCharacters(stdout.trim());
  return text === '' && stderr.trim() !== '' ? null : { type: 'envelope', envelope: envelope({ text }) };
}
