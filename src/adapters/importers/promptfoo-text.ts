/** A mapping as a promptfoo configuration has them. */
export type Members = Readonly<Record<string, unknown>>;

/** The value as a mapping; empty when it is none. */
export function members(value: unknown): Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Members) : {};
}

/** The value as a list: one item for a single value, none for nothing. */
export function list(value: unknown): readonly unknown[] {
  return value === undefined || value === null ? [] : Array.isArray(value) ? value : [value];
}

/** Collects sentences about what was left out, each once. */
export class LeftOut {
  readonly #sentences = new Set<string>();

  add(...sentences: readonly string[]): void {
    for (const sentence of sentences) this.#sentences.add(sentence);
  }

  /** Members that nothing reads: what they mean is lost. */
  addUnread(value: Members, read: readonly string[], at: string): void {
    for (const name of Object.keys(value))
      if (!read.includes(name)) this.add(`${at === '' ? name : `${at}.${name}`}: it has no counterpart here`);
  }

  all(): readonly string[] {
    return [...this.#sentences];
  }
}

/** A template with its variables in place; `{{name}}` only, because filters and blocks are code. */
export function rendered(template: string, vars: Members, at: string, leftOut: LeftOut): string {
  if (/\{%|\{#|\{\{[^}]*[|(]/.test(template))
    leftOut.add(`${at}: its text uses blocks, filters or calls, which are code`);
  return template.replace(/\{\{-?\s*([A-Za-z_][\w.]*)\s*-?\}\}/g, (whole, name: string) => {
    const value = name.split('.').reduce<unknown>((within, key) => members(within)[key], vars);
    if (value === undefined) {
      leftOut.add(`${at}: the variable \`${name}\` has no value`);
      return whole;
    }
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    if (text.includes('{{')) leftOut.add(`${at}: the value of \`${name}\` is a template itself, which is not rendered`);
    return text;
  });
}

/** A value with every text in it rendered. */
export function renderedDeep(value: unknown, vars: Members, at: string, leftOut: LeftOut): unknown {
  if (typeof value === 'string') return rendered(value, vars, at, leftOut);
  if (Array.isArray(value)) return value.map((item) => renderedDeep(item, vars, at, leftOut));
  return value;
}
