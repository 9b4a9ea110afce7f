import { type ToolProject, toolProject } from './tool-project.ts';

/** An agent that does what the case says: a list of calls over plain JSON-RPC, as any MCP client makes them. */
const AGENT = `
let text = '';
for await (const chunk of process.stdin) text += chunk;
const request = JSON.parse(text);
const url = process.env.PROCTOR_MCP_URL;
const token = process.env.PROCTOR_MCP_TOKEN;
let id = 0;
async function rpc(method, { key, ...params }, bearer = token) {
  const _meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientInfo': { name: 'a', version: '1' }, 'io.modelcontextprotocol/clientCapabilities': {}, ...(key ? { 'io.proctor/idempotency_key': key } : {}) };
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream', authorization: 'Bearer ' + bearer, 'mcp-protocol-version': '2026-07-28', 'mcp-method': method, ...(params.name ? { 'mcp-name': params.name } : {}) };
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify({ jsonrpc: '2.0', id: ++id, method, params: { ...params, _meta } }) });
  const body = await response.text();
  const json = body.startsWith('{') ? body : body.split('\\n').filter((line) => line.startsWith('data:')).at(-1)?.slice(5) ?? '{}';
  return { status: response.status, ...JSON.parse(json) };
}
const input = request.case.input;
const said = [];
if (input.list) said.push((await rpc('tools/list', {})).result.tools.map((tool) => tool.name).join(' '));
for (const [name, args] of input.calls ?? []) {
  const { result } = await rpc('tools/call', { name, arguments: args });
  said.push(result.isError ? 'no: ' + JSON.parse(result.content[0].text).code : 'yes');
}
if (input.other_token) said.push((await rpc('tools/list', {}, input.other_token)).status);
if (input.api) said.push((await fetch(new URL('/api/tool_runs', url), { method: 'POST', headers: { 'content-type': 'application/json', authorization: 'Bearer ' + token }, body: JSON.stringify({ tool: 'box.read', arguments: { text: 'a' } }) })).status);
if (input.key) said.push((await rpc('tools/call', { name: 'box__read', arguments: { text: 'k' }, key: input.key })).result.isError ? 'no' : 'yes');
if (input.crash) process.exit(3);
if (input.keep) (await import('node:fs')).writeFileSync('kept', url + ' ' + token);
console.log(JSON.stringify({ text: said.join(', '), tool_calls: input.claims ?? [], metadata: { echoed: input.echo ? token : '' } }));
`;

const PROFILE = (gateway: string) => `profile_id: gated
dataset: { path: cases.jsonl }
agent: { kind: command, name: "my agent", version: "1", command: [${process.execPath}, agent.mjs] }
gateway: ${gateway}
case_groups:
  - id: all
    evaluators: [{ ref: exact_match@1, dimension: text, blocking: true }]
`;

const POLICY = `version: 1
approvals: { expires_ms: 1500 }
rules:
  - { id: reading, when: { risk: read_only }, effect: allow }
  - { id: writing, when: { risk: write }, effect: ask }
`;

/** A project whose agent has gated tools: writes profile, policy and cases. */
export async function gatedProject(
  gateway: string,
  cases: readonly { id: string; input: unknown; expected: string }[],
): Promise<ToolProject> {
  const project = await toolProject({ policy: POLICY });
  await project.write('agent.mjs', AGENT);
  await project.write('profile.yaml', PROFILE(gateway));
  await project.write('cases.jsonl', cases.map((one) => JSON.stringify({ task_type: 't', ...one })).join('\n'));
  return project;
}
