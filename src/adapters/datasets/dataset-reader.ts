import { basename } from 'node:path';
import type { DatasetIdentity, DatasetItem, DatasetOptions, DatasetReader } from '../../contract/case.ts';
import { type Diagnostic, diagnostic } from '../../contract/problem.ts';

/** What a format learns of the dataset's identity while it reads. */
export type FoundIdentity = { -readonly [Key in keyof DatasetIdentity]?: DatasetIdentity[Key] };

/**
 * A reader over a format's items, which come in batches because each step of an async generator costs more than parsing
 * a small row. The identity falls back to the file's base name; a file without a case is a problem.
 */
export function datasetReader(
  options: DatasetOptions,
  read: (identity: FoundIdentity) => AsyncIterable<readonly DatasetItem[]>,
): DatasetReader {
  const identity: FoundIdentity = {};
  return {
    items: eachItem(options, read(identity)),
    identity: () => ({
      dataset_id: identity.dataset_id ?? baseName(options.shown_path),
      dataset_version: identity.dataset_version ?? null,
    }),
  };
}

/** A problem as an item of a dataset. */
export function problemItem(problem: Diagnostic): DatasetItem {
  return { type: 'problem', problem };
}

/** The diagnostic of a whole file, or of a line of it. */
export function fileProblem(
  options: DatasetOptions,
  message: string,
  hint: string,
  line: number | null = null,
): DatasetItem {
  return problemItem(diagnostic(message, { file: options.shown_path, line, hint }));
}

async function* eachItem(
  options: DatasetOptions,
  batches: AsyncIterable<readonly DatasetItem[]>,
): AsyncGenerator<DatasetItem> {
  let silent = true;
  for await (const batch of batches) {
    for (const item of batch) {
      silent = false;
      yield item;
    }
  }
  if (silent) yield fileProblem(options, 'the dataset has no cases', 'add at least one case');
}

function baseName(path: string): string {
  return basename(path).replace(/(\.[a-z]{1,6})?(\.gz)?$/i, '') || basename(path);
}
