import type { ExecutionDocument, RunDocument } from './documents.ts';

/** A run as exporters see it: its document, and its executions as often as they are asked for. */
export interface ExportedRun {
  readonly run: RunDocument;
  /** In (case_id, repeat) order. */
  executions(): AsyncIterable<ExecutionDocument>;
}

/** A format that a run is exported in: one file and one line in the registry. */
export interface Exporter {
  readonly format: string;
  readonly summary: string;
  /** The file name's usual ending, without the dot. */
  readonly extension: string;
  /** The text of the export, streamed; memory does not grow with the executions unless the format says so. */
  write(exported: ExportedRun): AsyncIterable<string>;
}
