import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';

/** A mutant that may survive, and why. */
export interface Listed {
  readonly file: string;
  readonly name: string;
  readonly why: string;
}

/** The list beside this file: by file, reasons, each with the mutants that it speaks of. */
export function listedSurvivors(): Listed[] {
  const text = readFileSync(path.join(import.meta.dirname, 'survivors.yaml'), 'utf8');
  const files = (parse(text) ?? {}) as Record<string, readonly { why: string; mutants: readonly string[] }[]>;
  return Object.entries(files).flatMap(([file, reasons]) =>
    reasons.flatMap(({ why, mutants }) => mutants.map((name) => ({ file, name, why }))),
  );
}
