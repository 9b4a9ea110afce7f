import type { EvaluatorKind } from '../../contract/evaluator.ts';
import { ProctorError } from '../../contract/problem.ts';
import { contains } from './contains.ts';
import { exactMatch } from './exact-match.ts';
import { jsonFields } from './json-fields.ts';
import { jsonSchema } from './json-schema.ts';
import { judge } from './judge.ts';
import { latency } from './latency.ts';
import { numeric } from './numeric.ts';
import { plain } from './parts/shown.ts';
import { codePoints, levenshtein } from './parts/text-distance.ts';
import { regex } from './regex.ts';
import { similarity } from './similarity.ts';
import { toolCalls } from './tool-calls.ts';
import { usage } from './usage.ts';

/** Every built-in evaluator; a new one is its file and its line here. */
export const evaluatorKinds: readonly EvaluatorKind[] = [
  exactMatch,
  contains,
  regex,
  jsonSchema,
  jsonFields,
  numeric,
  similarity,
  toolCalls,
  latency,
  usage,
  judge,
];

/** The built-in evaluator of a reference `name@version`; throws `invalid_profile` with the nearest names or the known versions. */
export function evaluatorKindOf(ref: string): EvaluatorKind {
  const [, name, version] = /^([^@]{1,200})@([1-9][0-9]{0,5})$/.exec(ref) ?? [];
  if (name === undefined) throw unknown(ref, ref.slice(0, 200).split('@')[0] ?? '');
  const named = evaluatorKinds.filter((kind) => kind.name === name);
  if (named.length === 0) throw unknown(ref, name);
  const found = named.find((kind) => String(kind.version) === version);
  if (found !== undefined) return found;
  throw new ProctorError('invalid_profile', `there is no \`${ref}\`; known: ${named.map(refOf).join(', ')}`);
}

function refOf(kind: EvaluatorKind): string {
  return `\`${kind.name}@${kind.version}\``;
}

function unknown(ref: string, name: string): ProctorError {
  const sought = codePoints(name.toLowerCase().replaceAll('-', '_'));
  const distances = evaluatorKinds.map((kind) => ({ kind, distance: levenshtein(sought, codePoints(kind.name)) }));
  const near = distances
    .filter(({ kind, distance }) => distance <= Math.max(2, kind.name.length / 3))
    .sort((left, right) => left.distance - right.distance);
  const cure =
    near.length > 0
      ? `did you mean ${near
          .slice(0, 3)
          .map(({ kind }) => refOf(kind))
          .join(' or ')}?`
      : `known: ${evaluatorKinds.map(refOf).join(', ')}`;
  return new ProctorError('invalid_profile', `there is no evaluator \`${plain(ref)}\`; ${cure}`);
}
