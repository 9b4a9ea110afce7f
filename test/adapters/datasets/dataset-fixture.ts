import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { openDataset } from '../../../src/adapters/datasets/index.ts';
import type { Case, DatasetIdentity } from '../../../src/contract/case.ts';
import type { Diagnostic } from '../../../src/contract/problem.ts';

/** All that reading one dataset yields. */
export interface ReadDataset {
  readonly cases: Case[];
  readonly lines: (number | null)[];
  readonly problems: Diagnostic[];
  readonly identity: DatasetIdentity;
}

/** A folder that is removed when the test ends. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'proctor-datasets-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

/** Writes a dataset file of that name and reads it. */
export function readDataset(
  name: string,
  content: string | Uint8Array,
  fields: Record<string, string> = {},
): Promise<ReadDataset> {
  const path = join(temporaryFolder(), name);
  writeFileSync(path, content);
  return readFile(path, fields, name);
}

/** Reads a dataset file. */
export async function readFile(
  path: string,
  fields: Record<string, string> = {},
  shown_path = path,
): Promise<ReadDataset> {
  const reader = openDataset({ path, shown_path, fields, signal: new AbortController().signal });
  const read: Omit<ReadDataset, 'identity'> = { cases: [], lines: [], problems: [] };
  for await (const item of reader.items) {
    if (item.type === 'problem') read.problems.push(item.problem);
    else {
      read.cases.push(item.case);
      read.lines.push(item.place.line);
    }
  }
  return { ...read, identity: reader.identity() };
}

/** A case with the members given, as the readers complete it. */
export function aCase(members: Partial<Case> & Pick<Case, 'id' | 'input'>): Case {
  return {
    task_type: 'default',
    case_group: null,
    expected: null,
    context: null,
    tags: [],
    metadata: {},
    cluster: null,
    ...members,
  };
}

/** Where each problem stands and what it says: `line:column field message`. */
export function told(problems: readonly Diagnostic[]): string[] {
  return problems.map(
    ({ line, column, field, message }) => `${line ?? '-'}:${column ?? '-'} ${field ?? '-'} ${message}`,
  );
}
