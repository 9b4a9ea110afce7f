import { existsSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { openDataset } from '../../src/adapters/datasets/index.ts';

/**
 * `npm run conformance [-- --data DIR]`: reads every benchmark record set of a folder (`PROCTOR_DATA` unless said) through the dataset readers and holds
 * the number of cases, and of rows that must be refused, to what the sets are known to hold.
 */
interface RecordSet {
  readonly file: string;
  readonly fields: Readonly<Record<string, string>>;
  readonly cases: number;
  /** Rows that JSON cannot carry and that must be refused by name, not changed. */
  readonly refused: number;
}

const SWE = { id: '/instance_id', input: '/problem_statement', expected: '/FAIL_TO_PASS' };
const SETS: readonly RecordSet[] = [
  {
    file: 'humaneval/HumanEval.jsonl.gz',
    fields: { id: '/task_id', input: '/prompt', expected: '/test', context: '/entry_point' },
    cases: 164,
    refused: 0,
  },
  {
    file: 'humaneval-plus/HumanEvalPlus.jsonl.gz',
    fields: { id: '/task_id', input: '/prompt', expected: 'text:/plus_input' },
    cases: 164,
    refused: 0,
  },
  {
    file: 'mbpp-plus/MbppPlus.jsonl.gz',
    fields: { id: '/task_id', input: '/prompt', expected: 'text:/plus_input' },
    cases: 378,
    refused: 0,
  },
  {
    file: 'mbpp/sanitized-mbpp.json',
    fields: { id: '/task_id', input: '/prompt', expected: '/test_list' },
    cases: 427,
    refused: 0,
  },
  {
    file: 'humanevalpack/python.jsonl',
    fields: { id: '/task_id', input: '/prompt', expected: '/test' },
    cases: 164,
    refused: 0,
  },
  { file: 'swe-bench-lite/test.jsonl', fields: SWE, cases: 300, refused: 0 },
  { file: 'swe-bench-lite/dev.jsonl', fields: SWE, cases: 23, refused: 0 },
  { file: 'swe-bench-multilingual/test.jsonl', fields: SWE, cases: 300, refused: 0 },
];

const { values } = parseArgs({ options: { data: { type: 'string', default: process.env['PROCTOR_DATA'] } } });
if (values.data === undefined || !existsSync(values.data)) {
  process.stderr.write(
    `usage: npm run conformance -- --data DIR; ${values.data === undefined ? 'no folder was given' : `\`${values.data}\` is not there`}\n`,
  );
  process.exit(2);
}
let failed = 0;
for (const set of SETS) {
  const { cases, problems } = await read(path.resolve(values.data, set.file), set);
  const ok = cases === set.cases && problems.length === set.refused;
  if (!ok) failed += 1;
  process.stdout.write(
    `${ok ? 'ok  ' : 'FAIL'} ${set.file}: ${cases} cases (${set.cases}), ${problems.length} refused (${set.refused})${ok ? '' : ` ${problems.slice(0, 3).join('; ')}`}\n`,
  );
}
process.stdout.write(`conformance: ${SETS.length - failed} of ${SETS.length} record sets read as they are known\n`);
process.exitCode = failed === 0 ? 0 : 1;

async function read(file: string, set: RecordSet): Promise<{ cases: number; problems: string[] }> {
  const reader = openDataset({
    path: file,
    shown_path: set.file,
    fields: set.fields,
    signal: new AbortController().signal,
  });
  const ids = new Set<string>();
  const problems: string[] = [];
  for await (const item of reader.items) {
    if (item.type === 'case') ids.add(item.case.id);
    else problems.push(`line ${item.problem.line}: ${item.problem.message}`);
  }
  return { cases: ids.size, problems };
}
