import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { evaluatorKindOf, evaluatorKinds } from '../../../src/adapters/evaluators/index.ts';
import type { EvaluatorKind } from '../../../src/contract/evaluator.ts';
import { ProctorError } from '../../../src/contract/problem.ts';

const folder = join(import.meta.dirname, '../../../src/adapters/evaluators');

describe('the registry of evaluators', () => {
  test('holds the evaluator of every file in the folder, named as its file is', async () => {
    const files = readdirSync(folder).filter((file) => file.endsWith('.ts') && file !== 'index.ts');
    expect(files.length).toBeGreaterThanOrEqual(10);
    const exported = await Promise.all(
      files.map(async (file) => {
        const kinds = Object.values((await import(join(folder, file))) as Record<string, EvaluatorKind>);
        return kinds.map((kind) => ({ file, kind }));
      }),
    );
    for (const { file, kind } of exported.flat()) {
      expect(evaluatorKinds).toContain(kind);
      expect(file).toBe(`${kind.name.replaceAll('_', '-')}.ts`);
    }
    expect(exported.flat()).toHaveLength(evaluatorKinds.length);
  });

  test('names each name and version once', () => {
    const refs = evaluatorKinds.map((kind) => `${kind.name}@${kind.version}`);
    expect(new Set(refs).size).toBe(refs.length);
    expect(refs.sort()).toEqual([
      'contains@1',
      'exact_match@1',
      'json_fields@1',
      'json_schema@1',
      'judge@1',
      'latency@1',
      'numeric@1',
      'regex@1',
      'similarity@1',
      'tool_calls@1',
      'usage@1',
    ]);
  });

  test.each(evaluatorKinds)(
    '$name describes every member of its config, refuses others, and has a JSON Schema',
    (kind) => {
      const schema = z.toJSONSchema(kind.config, { io: 'input' });
      const members = describedObjects(schema);
      expect(members.length).toBeGreaterThan(0);
      expect(members.filter(({ description }) => typeof description !== 'string' || description.length < 5)).toEqual(
        [],
      );
      const unknownMember = kind.config.safeParse({ no_such_member: 1 });
      expect(unknownMember.error?.issues.map((issue) => issue.code)).toContain('unrecognized_keys');
      expect(kind.summary).toMatch(/^[A-Z].{10,120}[^.]$/);
    },
  );

  test.each(evaluatorKinds)('$name@$version is found by its reference', (kind) => {
    expect(evaluatorKindOf(`${kind.name}@${kind.version}`)).toBe(kind);
  });

  test.each([
    ['exact_mach@1', 'invalid_profile', 'there is no evaluator `exact_mach@1`; did you mean `exact_match@1`?'],
    ['Json-Schema@1', 'invalid_profile', 'there is no evaluator `Json-Schema@1`; did you mean `json_schema@1`?'],
    ['numeric', 'invalid_profile', 'there is no evaluator `numeric`; did you mean `numeric@1`?'],
    ['numeric@2', 'invalid_profile', 'there is no `numeric@2`; known: `numeric@1`'],
    ['numeric@01', 'invalid_profile', 'there is no evaluator `numeric@01`; did you mean `numeric@1`?'],
    [
      '__proto__@1',
      'invalid_profile',
      'there is no evaluator `__proto__@1`; known: `exact_match@1`, `contains@1`, `regex@1`, `json_schema@1`, `json_fields@1`, `numeric@1`, `similarity@1`, `tool_calls@1`, `latency@1`, `usage@1`, `judge@1`',
    ],
  ])('%s is refused as %s with a cure', (ref, code, message) => {
    expect(refusal(ref)).toEqual({ code, message });
  });

  test('a reference of a megabyte is refused in a short message', () => {
    const { code, message } = refusal('x'.repeat(1_000_000));
    expect(code).toBe('invalid_profile');
    expect(message.length).toBeLessThan(500);
  });
});

function refusal(ref: string): { code: string; message: string } {
  try {
    evaluatorKindOf(ref);
  } catch (error) {
    if (error instanceof ProctorError) return { code: error.code, message: error.message };
    throw error;
  }
  throw new Error(`\`${ref}\` was not refused`);
}

/** Every member of every object that a schema describes, however deep, without the definition of JSON itself. */
function describedObjects(schema: unknown): { member: string; description: unknown }[] {
  if (typeof schema !== 'object' || schema === null) return [];
  return Object.entries(schema).flatMap(([key, value]) => {
    if (key === '$defs') return [];
    if (key !== 'properties') return describedObjects(value);
    return Object.entries(value as Record<string, { description?: unknown }>).flatMap(([member, part]) => [
      { member, description: part.description },
      ...describedObjects(part),
    ]);
  });
}
