import { type Document, LineCounter, type ParsedNode, parseDocument } from 'yaml';

/** A YAML text as parsed, with what the parser found wrong, the first of it. */
export interface ParsedYaml {
  readonly document: Document.Parsed<ParsedNode>;
  readonly counter: LineCounter;
  readonly mistakes: readonly { readonly message: string; readonly offset: number; readonly hint: string }[];
}

const MOST_MISTAKES = 100;

/**
 * Parses YAML 1.2; a tag that is not known is a mistake too. The library looks for duplicate keys by comparing each pair of them, and makes texts
 * of keys that are collections in exponential time: both are left to `yamlValue`, which reads each node once.
 */
export function parseYaml(text: string): ParsedYaml {
  const counter = new LineCounter();
  const document = parseDocument(text, { lineCounter: counter, prettyErrors: false, strict: true, uniqueKeys: false });
  const found = [...document.errors, ...document.warnings];
  // A stack that overflows is reported as many errors; one tells all.
  const deep = found.find(({ code }) => code === 'RESOURCE_EXHAUSTION');
  const mistakes = deep
    ? [
        {
          message: 'the file is nested too deeply',
          offset: deep.pos[0],
          hint: 'flatten it, or write the value as a text',
        },
      ]
    : found
        .filter(
          ({ message, pos }, at) => found.findIndex((one) => one.message === message && one.pos[0] === pos[0]) === at,
        )
        .slice(0, MOST_MISTAKES)
        .map(({ message, pos }) => ({ message, offset: pos[0], hint: 'repair the YAML at this place' }));
  return { document, counter, mistakes };
}
