import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { parse } from 'yaml';
import { declaredSources, sourceProblems } from '../../../src/adapters/tools/index.ts';
import { openapiConfigSchema } from '../../../src/adapters/tools/openapi-config.ts';
import { projectSchema } from '../../../src/contract/project.ts';
import type { ToolRunDocument } from '../../../src/contract/tool-documents.ts';
import { proctor } from '../../support/cli.ts';
import { type ToolProject, toolProject } from '../../support/tool-project.ts';
import { type Api, startApi } from './openapi-fixture.ts';

const PETSTORE = `openapi: 3.0.3
info: {title: Pets, version: "1"}
paths:
  /pets:
    get:
      operationId: listPets
      summary: All pets
      parameters: [{name: tag, in: query, schema: {type: string, enum: [cat, dog]}}]
      responses: {200: {description: ok, content: {application/json: {schema: {type: array, items: {$ref: "#/components/schemas/Pet"}}}}}}
    post:
      operationId: addPet
      requestBody: {required: true, content: {application/json: {schema: {$ref: "#/components/schemas/Pet"}}}}
      responses: {201: {description: made, content: {application/json: {schema: {$ref: "#/components/schemas/Pet"}}}}}
components:
  schemas:
    Pet: {type: object, required: [id, name], properties: {id: {type: integer, readOnly: true}, name: {type: string}, tag: {type: string, nullable: true}}}
`;

const POLICY = `version: 1
approvals: { self_approval: true }
rules:
  - { id: reading, when: { risk: read_only }, effect: allow }
  - { id: writing, when: { risk: write }, effect: { ask: {} } }
`;

const project = (document: string, api: Api, more = '') => `version: 1
tools:
  pets: { kind: openapi, document: "${document}", server: "${api.url}/v1", headers: { authorization: "Bearer \${secret:PETS}" }, risk: { addPet: write }${more} }
`;

const run = (of: ToolProject, tool: string, input: object) =>
  of.json<ToolRunDocument>(['tool', 'run', tool, '--args', JSON.stringify(input)]);

/** An API of pets that says back what credentials it got. */
const pets = (answer: unknown = [{ id: 1, name: 'Mia', tag: null }]) =>
  startApi(({ method, headers, body }, response) => {
    const made = method === 'POST' ? { id: 2, ...JSON.parse(body), echo: headers['authorization'] } : answer;
    response.writeHead(method === 'POST' ? 201 : 200, { 'content-type': 'application/json' }).end(JSON.stringify(made));
  });

describe('through the gateway', () => {
  beforeEach(() => {
    vi.stubEnv('PETS', 'pets-s3cret');
  });
  afterEach(() => {
    vi.unstubAllEnvs();
  });

  test('a file of the project: reading is allowed as its method says, writing is asked for and carries the tool run’s id', async () => {
    await using api = await pets();
    await using of = await toolProject({ policy: POLICY, project: project('petstore.yaml', api) });
    await of.write(
      'petstore.yaml',
      PETSTORE.replace('components:', '  /bad/{x}: {get: {operationId: bad}}\ncomponents:'),
    );
    const listed = await of.json<{ tool: string; state: string; risk: string }>(['tool', 'ls']);
    expect(listed.documents.map(({ tool, state, risk }) => [tool, state, risk])).toEqual([
      ['pets.addPet', 'callable', 'write'],
      ['pets.listPets', 'callable', 'read_only'],
      ['pets.bad', 'refused', undefined],
    ]);
    expect(listed.stderr).toMatch(
      /refused pets.bad: its path `\/bad\/\{x\}` has `\{x\}`, for which there is no parameter/,
    );
    const read = await run(of, 'pets.listPets', { tag: 'cat' });
    expect([read.code, read.documents[0]]).toMatchObject([
      0,
      { status: 'ok', risk: 'read_only', output: { structured: { result: [{ id: 1, name: 'Mia', tag: null }] } } },
    ]);
    expect(api.seen[0]).toMatchObject({ target: '/v1/pets?tag=cat', headers: { authorization: 'Bearer pets-s3cret' } });

    for (const input of [{ tag: 'cow' }, { admin: true }])
      expect((await run(of, 'pets.listPets', input)).documents[0]).toMatchObject({
        status: 'error',
        reason: 'invalid_arguments',
        dispatched_at: null,
      });
    const asked = await run(of, 'pets.addPet', { body: { name: 'Tom' } });
    expect([asked.code, api.seen.length]).toEqual([4, 1]);
    const approved = await of.json<{ tool_run: ToolRunDocument }>(['approve', asked.documents[0]?.approval_id ?? '']);
    const made = approved.documents[0]?.tool_run;
    expect(made).toMatchObject({
      status: 'ok',
      output: { structured: { id: 2, name: 'Tom', echo: 'Bearer [secret PETS]' } },
    });
    expect(api.seen[1]).toMatchObject({ method: 'POST', headers: { 'idempotency-key': made?.tool_run_id } });
    const stored = await readFile(path.join(of.path, '.proctor/proctor.db'));
    expect(stored.includes('pets-s3cret')).toBe(false);
  });

  test('a server that drifts from its document is `invalid_output`, with what it answered', async () => {
    await using api = await pets([{ id: 'one', name: 'Mia' }]);
    await using of = await toolProject({ policy: POLICY, project: project('petstore.yaml', api) });
    await of.write('petstore.yaml', PETSTORE);
    const drifted = await run(of, 'pets.listPets', {});
    expect([drifted.code, drifted.documents[0]]).toMatchObject([
      1,
      {
        status: 'error',
        error: { code: 'invalid_output', message: expect.stringContaining('`/result/0/id` must be integer') },
        output: { structured: { result: [{ id: 'one', name: 'Mia' }] } },
      },
    ]);
    await of.write('proctor.yaml', project('petstore.yaml', api, ', check_output: false'));
    expect((await run(of, 'pets.listPets', {})).documents[0]).toMatchObject({ status: 'ok' });
  });

  test('a document from a URL waits for its pin, and again when any of it changes', async () => {
    await using api = await pets();
    let text = PETSTORE;
    await using documents = await startApi((_, response) => response.writeHead(200).end(text));
    await using of = await toolProject({
      policy: POLICY,
      project: project(`${documents.url}/petstore.yaml`, api, ', trusted: true'),
    });
    const refused = await run(of, 'pets.listPets', {});
    expect([refused.code, refused.documents[0]]).toMatchObject([1, { status: 'denied', reason: 'not_pinned' }]);
    const shown = (await proctor(of.path, ['tool', 'pin', 'pets'])).stdout;
    const seen = /--yes --seen ([0-9a-f]{16})/.exec(shown)?.[1] ?? '';
    const other = await proctor(of.path, ['tool', 'pin', 'pets', '--yes', '--seen', '0'.repeat(16)]);
    expect([other.code, other.stderr]).toEqual([2, expect.stringContaining(seen)]);
    expect((await run(of, 'pets.listPets', {})).documents[0]).toMatchObject({ reason: 'not_pinned' });
    expect((await proctor(of.path, ['tool', 'pin', 'pets', '--yes', '--seen', seen])).code).toBe(0);
    expect((await run(of, 'pets.listPets', {})).documents[0]).toMatchObject({ status: 'ok', risk: 'read_only' });
    text = PETSTORE.replaceAll('/pets:', '/admins:');
    expect((await run(of, 'pets.listPets', {})).documents[0]).toMatchObject({
      status: 'denied',
      reason: 'not_pinned',
    });
    expect(api.seen.map(({ target }) => target)).toEqual(['/v1/pets']);
  });
});

const declared = (members: Record<string, unknown>) =>
  projectSchema.parse({ version: 1, tools: { api: { kind: 'openapi', ...members } } }).tools;

test('only a document that is a file of the project is the operator’s own', () => {
  const own = (members: Record<string, unknown>) =>
    declaredSources(declared(members), {
      base_dir: '/',
      private_dir: '/',
      resolve: (text) => text,
      environment: {},
      note: () => undefined,
    })[0]?.own;
  expect(own({ document: 'api.yaml' })).toBe(true);
  expect(own({ document: 'api.yaml', pin: 'approve' })).toBe(false);
  expect(own({ document: 'https://api.example/api.yaml' })).toBe(false);
  expect(own({ document: 'HTTP://api.example/api.yaml' })).toBe(false);
  expect(own({ document: 'https://api.example/api.yaml', pin: 'own' })).toBe(true);
});

test.each([
  [{}, 'tools.api.document', /./],
  [{ document: 'a', server: 'ftp://x' }, 'tools.api.server', /http or https/],
  [{ document: 'a', server: '/v1' }, 'tools.api.server', /whole URL/],
  [{ document: 'a', server: 'https://u:p@x' }, 'tools.api.server', /user name/],
  [{ document: 'a', server: 'https://x/?a=1' }, 'tools.api.server', /query or a fragment/],
  [{ document: 'https://u:p@x/a' }, 'tools.api.document', /user name/],
  [{ document: 'a', headers: { Host: 'x' } }, 'tools.api.headers.Host', /set by itself/],
  [{ document: 'a', headers: { 'a b': 'x' } }, 'tools.api.headers.a b', /not a valid header name/],
  [{ document: 'a', documents: 1 }, 'tools.api.documents', /./],
])('the configuration %j is refused at %s', (members, field, why) => {
  const [problem] = sourceProblems(declared(members), false);
  expect(problem?.field).toBe(field);
  expect(problem?.message).toMatch(why);
});

test('the example of the page is a project without problems', async () => {
  const page = await readFile(path.resolve(import.meta.dirname, '../../../docs/tools-openapi.md'), 'utf8');
  const { tools } = projectSchema.parse(parse(/```yaml\n(.*?)```/s.exec(page)?.[1] ?? ''));
  expect(sourceProblems(tools, false)).toEqual([]);
  expect(tools['pets']?.kind).toBe('openapi');
  const members = [...page.matchAll(/^\| `(\w+)` \| (\S+) \|/gm)].map(([, name = '', unsaid]) => [name, unsaid]);
  const plain = openapiConfigSchema.parse({ document: 'a' }) as Record<string, unknown>;
  const text = (value: unknown) => (typeof value === 'object' && value !== null ? 'none' : String(value));
  expect(members).toEqual(members.map(([name = '']) => [name, text(plain[name])]));
  expect(members).toHaveLength(5);
});
