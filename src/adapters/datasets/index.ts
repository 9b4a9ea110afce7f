import type { DatasetFormat, DatasetOptions, DatasetReader } from '../../contract/case.ts';
import { diagnostic, ProctorError } from '../../contract/problem.ts';
import { csvFormat } from './csv.ts';
import { jsonFormat } from './json.ts';
import { jsonlFormat } from './jsonl.ts';
import { yamlFormat } from './yaml.ts';

/** Opens a dataset in the format that its file name ends in; throws `invalid_dataset` for an ending that none takes. */
export function openDataset(options: DatasetOptions): DatasetReader {
  const name = options.path.toLowerCase();
  const format = datasetFormats.find(({ extensions }) => extensions.some((extension) => name.endsWith(extension)));
  if (format) return format.read(options);
  const known = datasetFormats.flatMap(({ extensions }) => extensions).join(', ');
  const message = `no dataset format takes the file \`${options.shown_path}\``;
  const problem = diagnostic(message, { file: options.shown_path, hint: `name it with one of ${known}` });
  throw new ProctorError('invalid_dataset', `${message}: its name must end in one of ${known}`, {
    diagnostics: [problem],
  });
}

/** Every dataset format: to add one, write its file and add its line. */
export const datasetFormats: readonly DatasetFormat[] = [yamlFormat, jsonFormat, jsonlFormat, csvFormat];
