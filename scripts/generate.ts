import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { generatedFiles } from './generated.ts';

/** `npm run generate`: writes every generated file. */
for (const [name, text] of Object.entries(generatedFiles())) {
  const target = path.resolve(import.meta.dirname, '..', name);
  mkdirSync(path.dirname(target), { recursive: true });
  writeFileSync(target, text);
}
