import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

/**
 * An assistant that understands two sentences. Its tools are behind the gate: where they are, and the token of this attempt, stand in its
 * environment. What it may not do, it says.
 */
const input: string = await new Promise((resolve) => {
  let text = '';
  process.stdin.setEncoding('utf8');
  process.stdin.on('data', (chunk) => {
    text += chunk;
  });
  process.stdin.on('end', () => resolve(text));
});
const { case: asked } = JSON.parse(input) as { case: { input: string } };

const client = new Client({ name: 'assistant', version: '1' }, { versionNegotiation: { mode: 'auto' } });
await client.connect(
  new StreamableHTTPClientTransport(new URL(process.env['PROCTOR_MCP_URL'] ?? ''), {
    requestInit: { headers: { authorization: `Bearer ${process.env['PROCTOR_MCP_TOKEN']}` } },
  }),
);

async function call(
  name: string,
  input: Record<string, unknown>,
): Promise<{ ok: boolean; data: Record<string, unknown> }> {
  const result = await client.callTool({ name, arguments: input });
  if (result.isError !== true) return { ok: true, data: (result.structuredContent ?? {}) as Record<string, unknown> };
  const [told] = result.content; // why not, as JSON
  return { ok: false, data: JSON.parse(told?.type === 'text' ? told.text : '{}') as Record<string, unknown> };
}

async function answer(): Promise<string> {
  const volume = /volume to (\d+)/.exec(asked.input)?.[1];
  if (volume !== undefined) {
    const set = await call('speaker__set_volume', { volume: Number(volume) });
    return set.ok ? `The volume is ${set.data['volume']} now.` : `I was not allowed to: ${set.data['message']}.`;
  }
  const day = /(\d{4}-\d{2}-\d{2})/.exec(asked.input)?.[1];
  if (day === undefined) return 'I did not understand that.';
  const agenda = await call('calendar__get_agenda', { day });
  if (!agenda.ok) return 'I could not look at the calendar.';
  const entries = agenda.data['entries'] as { summary: string }[];
  return entries.length === 0 ? 'Nothing.' : entries.map((entry) => entry.summary).join(', ');
}

process.stdout.write(JSON.stringify({ text: await answer() }));
await client.close();
