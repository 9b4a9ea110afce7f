import type { Exporter } from '../../contract/exporter.ts';
import { ProctorError } from '../../contract/problem.ts';
import { annotations } from './annotations.ts';
import { csv } from './csv.ts';
import { html } from './html.ts';
import { jsonl } from './jsonl.ts';
import { junit } from './junit.ts';

/** The text formats of `proctor export`. */
export const EXPORTERS: readonly Exporter[] = [junit, jsonl, csv, html, annotations];

/** The exporter of a format; `usage` with the formats there are. */
export function exporterOf(format: string): Exporter {
  const found = EXPORTERS.find((exporter) => exporter.format === format);
  if (found) return found;
  const names = [...EXPORTERS.map((exporter) => exporter.format), 'bundle'].join(', ');
  throw new ProctorError('usage', `there is no export format \`${format}\`; the formats are ${names}`);
}
