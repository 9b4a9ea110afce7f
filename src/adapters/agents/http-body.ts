import type { AgentRequest } from '../../contract/agent.ts';
import { canonicalJson } from '../../lib/canonical-json.ts';
import type { Endpoint } from './http-config.ts';

/** Makes the request body (JSON text) of an endpoint, by its `body` or else by what its response is. */
export function requestBody(endpoint: Pick<Endpoint, 'body' | 'response'>): (request: AgentRequest) => string {
  const body = endpoint.body ?? ('preset' in endpoint.response ? endpoint.response.preset : 'native');
  const chosen = typeof body === 'string' ? { preset: body } : body;
  if (chosen.preset === 'native') return (request) => JSON.stringify(request);
  const model = 'model' in chosen ? chosen.model : undefined;
  const system = 'system' in chosen ? chosen.system : undefined;
  const members = 'members' in chosen ? chosen.members : {};
  return (request) =>
    JSON.stringify({
      ...members,
      ...(model === undefined ? {} : { model }),
      messages: [
        ...(system === undefined ? [] : [{ role: 'system', content: system }]),
        ...(request.session?.history.flatMap(said) ?? []),
        ...messages(request.case.input),
      ],
    });
}

/** An earlier turn of the session, as the chat had it. */
function said({
  input,
  text,
  structured,
}: NonNullable<AgentRequest['session']>['history'][number]): readonly unknown[] {
  return [...messages(input), { role: 'assistant', content: text ?? canonicalJson(structured) }];
}

/** An input that is a list of chat messages is sent as it is; a string or anything else becomes the user's message. */
function messages(input: unknown): readonly unknown[] {
  if (Array.isArray(input) && input.length > 0 && input.every(isMessage)) return input;
  return [{ role: 'user', content: typeof input === 'string' ? input : canonicalJson(input) }];
}

function isMessage(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'role' in value && typeof value.role === 'string';
}
