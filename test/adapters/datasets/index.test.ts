import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { datasetFormats } from '../../../src/adapters/datasets/index.ts';
import { ProctorError } from '../../../src/contract/problem.ts';
import { aCase, readFile, temporaryFolder } from './dataset-fixture.ts';

test('refuses a name that no format takes, a missing file and a folder, and says what to do', async () => {
  const folder = temporaryFolder();
  const refusal = async (path: string, fields: Record<string, string> = {}) => {
    try {
      await readFile(join(folder, path), fields, path);
      return null;
    } catch (error) {
      return ProctorError.is(error) ? [error.code, error.message, error.diagnostics[0]?.hint] : error;
    }
  };
  mkdirSync(join(folder, 'folder.json'));
  writeFileSync(join(folder, 'a.jsonl'), '');
  const known = '.yaml, .yml, .json, .json.gz, .jsonl, .ndjson, .jsonl.gz, .ndjson.gz, .csv, .csv.gz';
  expect(await refusal('a.parquet')).toEqual([
    'invalid_dataset',
    `no dataset format takes the file \`a.parquet\`: its name must end in one of ${known}`,
    `name it with one of ${known}`,
  ]);
  const missing = 'check the path; it is relative to the profile, or on the command line to the current folder';
  expect(await refusal('none.csv')).toEqual(['not_found', `there is no dataset \`none.csv\`: ${missing}`, missing]);
  expect(await refusal('a.jsonl/b.json')).toEqual([
    'not_found',
    `there is no dataset \`a.jsonl/b.json\`: ${missing}`,
    missing,
  ]);
  expect(await refusal('folder.json')).toEqual([
    'invalid_dataset',
    'the dataset `folder.json` is a folder: name the file inside it',
    'name the file inside it',
  ]);
  const mapping = 'the field mapping of the dataset `a.jsonl` is not valid';
  expect(await refusal('a.jsonl', { inputs: '/a' })).toEqual([
    'invalid_dataset',
    `${mapping}: a case has no field \`inputs\``,
    'did you mean `input`?',
  ]);
  expect(await refusal('a.jsonl', { input: 'a' })).toEqual([
    'invalid_dataset',
    `${mapping}: \`a\` is not a JSON pointer: it must be empty or start with \`/\``,
    "write `/a`, or `text:/…` for the member's JSON text",
  ]);
});

test.each(datasetFormats.map((format) => [format.name, format] as const))(
  'the format %s has endings of its own and reads a case that others can read too',
  async (name, format) => {
    const content: Record<string, string> = {
      yaml: '- {id: a, input: x, tags: [t]}',
      json: '[{"id": "a", "input": "x", "tags": ["t"]}]',
      jsonl: '{"id": "a", "input": "x", "tags": ["t"]}',
      csv: 'id,input,tags\na,x,t',
    };
    const others = datasetFormats.filter((other) => other !== format).flatMap((other) => other.extensions);
    expect(format.extensions.filter((extension) => others.includes(extension))).toEqual([]);
    const path = join(temporaryFolder(), `set${format.extensions[0]}`);
    writeFileSync(path, content[name] ?? '');
    const read = await readFile(path);
    expect([read.problems, read.cases, read.identity]).toEqual([
      [],
      [aCase({ id: 'a', input: 'x', tags: ['t'] })],
      { dataset_id: 'set', dataset_version: null },
    ]);
  },
);
