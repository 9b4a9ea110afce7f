import { z } from 'zod';
import type { Diagnostic } from './problem.ts';

/** A case id: printable, one line, up to 512 characters. */
export const caseIdSchema = z
  .string()
  .min(1)
  .max(512)
  .regex(/^[^\p{Cc}]+$/u, 'must not hold control characters');

/** One case of a dataset, as a dataset file may write it. */
export const caseSchema = z
  .strictObject({
    id: caseIdSchema,
    task_type: z.string().min(1).default('default'),
    /** Names the case group outright; without it exactly one group must match. */
    case_group: z.string().nullable().default(null),
    input: z.json(),
    expected: z.json().default(null),
    context: z.json().default(null),
    tags: z.array(z.string()).default([]),
    metadata: z.record(z.string(), z.json()).default({}),
    /** Cases that share a cause of variation; standard errors are clustered by it. */
    cluster: caseIdSchema.nullable().default(null),
  })
  .meta({ id: 'case', description: 'One case of a dataset' });
export type Case = z.output<typeof caseSchema>;

/** A dataset file in YAML or JSON: its identity and its cases. */
export const datasetSchema = z
  .strictObject({
    dataset_id: z.string().min(1).optional(),
    dataset_version: z.string().min(1).optional(),
    description: z.string().optional(),
    cases: z.array(caseSchema),
  })
  .meta({ id: 'dataset', description: 'A dataset: a versioned set of cases' });

/** Where a case stood in its file, for errors. */
export interface CasePlace {
  readonly file: string;
  readonly line: number | null;
}

/** What reading a dataset yields, one at a time: a case or a problem; reading goes on after a problem where it can. */
export type DatasetItem =
  | { readonly type: 'case'; readonly case: Case; readonly place: CasePlace }
  | { readonly type: 'problem'; readonly problem: Diagnostic };

/** What a dataset says of itself, known after the last item was read. */
export interface DatasetIdentity {
  readonly dataset_id: string;
  readonly dataset_version: string | null;
}

/** How to read a dataset: file path, mapping of case fields to JSON pointers, limits in bytes. */
export interface DatasetOptions {
  readonly path: string;
  /** The path as the user wrote it, for errors. */
  readonly shown_path: string;
  /** Case field → JSON pointer into the row (`/question`), or `text:/pointer` for the member's JSON text verbatim. */
  readonly fields: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

/** Streams a dataset: every case with its place; problems in line order. */
export interface DatasetReader {
  readonly items: AsyncIterable<DatasetItem>;
  /** Valid once `items` has ended. */
  identity(): DatasetIdentity;
}

/** A dataset format: which files it takes and how it streams them. */
export interface DatasetFormat {
  readonly name: string;
  /** File name endings, with the dot, lower case. */
  readonly extensions: readonly string[];
  read(options: DatasetOptions): DatasetReader;
}
