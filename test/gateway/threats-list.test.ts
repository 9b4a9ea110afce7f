import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { LEFT_FOR_THE_SANDBOX, THREATS, threat } from '../support/gateway-threats.ts';

const texts = readdirSync(import.meta.dirname)
  .filter((name) => /^threats-(?!list).*\.test\.ts$/.test(name))
  .map((name) => readFileSync(path.join(import.meta.dirname, name), 'utf8'));

test('every threat of the list is a test', () => {
  const tested = new Set(
    texts.flatMap((text) => [...text.matchAll(/\bthreat\(\s*(\d+),/g)].map(([, number]) => number)),
  );
  expect(THREATS.filter((_, index) => !tested.has(String(index + 1)))).toEqual([]);
  expect(THREATS).toHaveLength(26);
});

test('what is left for the sandbox is these parts, and no others', () => {
  expect(LEFT_FOR_THE_SANDBOX.map(({ threat: number, part }) => threat(number, part))).toEqual([
    '#13 a path leads elsewhere: a link is swapped between the dispatch and the tool opening the path',
    '#14 a URL leads elsewhere: a tool of the project itself resolves a name to a private address, or follows a redirect to one',
    '#17 output without end: a program fills the disk or the memory of the machine instead of its output',
    '#20 a secret leaves: a tool that was handed a secret sends it over the network or in a form of its own making',
  ]);
});
