/** Takes the values of secrets out of a text. */
export type Redact = (text: string) => string;

const PLACEHOLDER = /\$\{(secret|env):([A-Za-z_][A-Za-z0-9_]*)\}/g;
const MIN_SECRET = 4; // a shorter value would tear ordinary text apart
const MIN_ENV = 8; // plain settings such as `dev` come from the environment too

/**
 * A function that replaces the values behind the `${secret:NAME}` and `${env:NAME}` of the templates by `[secret NAME]`,
 * as they are, as JSON writes them inside a string, and in base64 (a server's echo of a header or a body).
 */
export function redactor(templates: readonly string[], resolve: (text: string) => string): Redact {
  const replacements = new Map<string, string>();
  for (const template of templates) {
    for (const [placeholder, kind, name] of template.matchAll(PLACEHOLDER)) {
      const value = resolve(placeholder);
      if (value.length < (kind === 'secret' ? MIN_SECRET : MIN_ENV)) continue;
      const shown = `[${kind} ${name}]`;
      for (const form of [
        value,
        JSON.stringify(value).slice(1, -1),
        encodeURIComponent(value),
        Buffer.from(value).toString('base64'),
      ])
        replacements.set(form, shown);
    }
  }
  const longestFirst = [...replacements].sort(([a], [b]) => b.length - a.length);
  return (text) => {
    let result = text;
    for (const [value, shown] of longestFirst) if (result.includes(value)) result = result.replaceAll(value, shown);
    return result;
  };
}
