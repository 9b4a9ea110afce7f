import { access, mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { JSON_SCHEMAS } from '../../adapters/json-schemas.ts';
import { ProctorError } from '../../contract/problem.ts';
import type { Command } from '../context.ts';

/** `proctor init [FOLDER]`: a profile, a dataset and an agent that run at once, with the schema that lets an editor complete the profile. */
export const init: Command<{ readonly folder?: string; readonly force?: boolean }> = async (context, options) => {
  const { output } = context;
  const folder = path.resolve(context.cwd, options.folder ?? '.');
  const files: Readonly<Record<string, string>> = {
    'profile.yaml': PROFILE,
    'cases.yaml': CASES,
    'agent.mjs': AGENT,
    'profile.schema.json': `${JSON.stringify(JSON_SCHEMAS['profile']?.(), null, 2)}\n`,
  };
  if (!options.force) {
    for (const name of Object.keys(files)) {
      const there = await access(path.join(folder, name)).then(
        () => true,
        () => false, // absent is what we want
      );
      if (there)
        throw new ProctorError(
          'usage',
          `\`${path.join(options.folder ?? '.', name)}\` exists; nothing was written. Use another folder, or --force to write over it`,
        );
    }
  }
  await mkdir(folder, { recursive: true });
  for (const [name, text] of Object.entries(files)) await writeFile(path.join(folder, name), text);
  const at = path.relative(context.cwd, path.join(folder, 'profile.yaml'));
  output.result(
    { folder, files: Object.keys(files) },
    `wrote ${Object.keys(files).join(', ')} to ${folder}\n\n  proctor check ${at} --probe    does it make sense?\n  proctor run ${at}              the verdict`,
  );
  return 0;
};

const PROFILE = `# yaml-language-server: $schema=./profile.schema.json
profile_id: capitals
profile_version: 1.0.0
dataset: { path: cases.yaml }
agent:
  # Your agent: kind http (endpoint.url), command (argv; JSON on stdin), module (path, export) or replay (path).
  kind: command
  name: capitals
  version: 1.0.0
  command: [node, agent.mjs]
repeats: 1
limits: { concurrency: 4 }
case_groups:
  - id: all
    evaluators:
      - { ref: exact_match@1, dimension: correctness, blocking: true, config: { ignore_case: true } }
gate:
  all:
    - { metric: pass_rate, bound: point, min: 0.9 }
`;

const CASES = `dataset_id: capitals
dataset_version: 1.0.0
cases:
  - { id: france, input: What is the capital of France?, expected: Paris, tags: [europe] }
  - { id: japan, input: What is the capital of Japan?, expected: Tokyo, tags: [asia] }
  - { id: kenya, input: What is the capital of Kenya?, expected: Nairobi, tags: [africa] }
  - { id: peru, input: What is the capital of Peru?, expected: Lima, tags: [america] }
`;

const AGENT = `// An agent of kind command: one JSON request on stdin, the answer on stdout (an envelope, or plain text).
import { text } from 'node:stream/consumers';

const request = JSON.parse(await text(process.stdin));
const capitals = { France: 'Paris', Japan: 'Tokyo', Kenya: 'Nairobi', Peru: 'Lima' };
const country = Object.keys(capitals).find((name) => request.case.input.includes(name));
console.log(JSON.stringify({ text: capitals[country] ?? 'I do not know.' }));
`;
