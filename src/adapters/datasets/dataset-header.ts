import { datasetSchema } from '../../contract/case.ts';
import { type Diagnostic, diagnostic } from '../../contract/problem.ts';
import type { FoundIdentity } from './dataset-reader.ts';
import { nearestName } from './nearest-name.ts';

const FIELDS = Object.keys(datasetSchema.shape);

/** Takes a member that stands beside `cases` into the identity, and says what is wrong with it. */
export function headerProblems(
  identity: FoundIdentity,
  name: string,
  value: unknown,
  place: Partial<Diagnostic>,
): readonly Diagnostic[] {
  if (name === 'cases')
    return [diagnostic('`cases` must be a list of cases', { ...place, hint: 'write `cases: […]`' })];
  if (!FIELDS.includes(name)) {
    const near = nearestName(name, FIELDS);
    const hint = near
      ? `did you mean \`${near}\`?`
      : `a dataset has ${FIELDS.join(', ')}; put the rows under \`cases\``;
    return [diagnostic(`a dataset has no field \`${name}\``, { ...place, hint })];
  }
  const field = name as 'dataset_id' | 'dataset_version' | 'description';
  const parsed = datasetSchema.shape[field].safeParse(value);
  if (!parsed.success) {
    const detail = parsed.error.issues[0]?.message.replace(/^Invalid input: /, '');
    return [
      diagnostic(`\`${name}\` is not valid: ${detail}`, { ...place, hint: 'write a text in quotes that is not empty' }),
    ];
  }
  if (field !== 'description' && parsed.data !== undefined) identity[field] = parsed.data;
  return [];
}
