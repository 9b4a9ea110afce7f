import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { generatedFiles } from '../scripts/generated.ts';
import { VERSION } from '../src/cli/version.ts';

const root = path.resolve(import.meta.dirname, '..');

test.each(Object.entries(generatedFiles()))('%s is as `npm run generate` writes it', async (name, text) => {
  expect(await readFile(path.join(root, name), 'utf8')).toBe(text);
});

test('the version that the CLI prints is the package’s', async () => {
  const { version } = JSON.parse(await readFile(path.join(root, 'package.json'), 'utf8')) as { version: string };
  expect(VERSION).toBe(version);
});
