import { describe, expect, it } from 'vitest';
import { http } from '../../../src/adapters/agents/http.ts';
import { httpServer } from '../transport/server.ts';
import { invokeOnce, openAgent, SECRETS, secret } from './fixture.ts';

describe('a secret', () => {
  it('that the server sends back is in no message or evidence; an answer stays as it came, to be graded', async () => {
    const headers = { authorization: `Bearer ${secret('TOKEN')}` };
    const token = SECRETS['TOKEN'] ?? '';
    await using server = await httpServer((seen, response) => {
      const echoed = JSON.stringify({ text: `you sent ${seen.headers.authorization}`, plain: 0 });
      const split = `${'-'.repeat(2_040)}${seen.headers.authorization}`;
      if (seen.path === '/good') response.end(echoed);
      else
        response
          .writeHead(seen.path === '/bad' ? 500 : 200, {
            'content-type': 'application/json',
            'x-request-id': seen.headers.authorization ?? '',
          })
          .end(seen.path === '/edge' ? split : echoed.slice(1));
    });
    const answers = await Promise.all(
      ['/good', '/bad', '/invalid', '/edge'].map((path) =>
        invokeOnce(http, { endpoint: { url: server.url + path, headers } }),
      ),
    );
    const kept = JSON.stringify(answers.filter(({ type }) => type === 'failure'));
    expect(answers.map((answer) => (answer.type === 'failure' ? answer.code : answer.type))).toEqual([
      'envelope',
      'http_status',
      'invalid_body',
      'invalid_body',
    ]);
    expect(answers[0]).toMatchObject({ envelope: { text: `you sent Bearer ${token}` } });
    for (const form of [token, JSON.stringify(token).slice(1, -1), token.slice(0, 8)]) expect(kept).not.toContain(form);
    expect(server.seen[0]?.headers.authorization).toBe(`Bearer ${token}`);
  });

  it('that is missing is found when the agent is opened', async () => {
    await expect(
      openAgent(http, { endpoint: { url: 'http://localhost/', headers: { a: secret('NONE') } } }),
    ).rejects.toThrow('no secret NONE');
  });
});
