/** Takes the values of secrets out of a text. */
export type Redact = (text: string) => string;

const PLACEHOLDER = /\$\{(secret|env):([A-Za-z_][A-Za-z0-9_]*)\}/g;
const MIN_SECRET = 4; // a shorter value would tear ordinary text apart
const MIN_INSIDE = 8; // a shorter piece of base64 stands in ordinary text by chance
const MIN_ENV = 8; // plain settings such as `dev` come from the environment too

/**
 * A function that replaces the values behind the `${secret:NAME}` and `${env:NAME}` of the templates by `[secret NAME]`,
 * as they are, as JSON writes them inside a string (and that inside another), in URLs, in hexadecimal, and in base64 wherever in the
 * encoded text they stand (a server's echo of a header or a body).
 */
export function redactor(templates: readonly string[], resolve: (text: string) => string): Redact {
  const replacements = new Map<string, string>();
  for (const template of templates) {
    for (const [placeholder, kind, name] of template.matchAll(PLACEHOLDER)) {
      const value = resolve(placeholder);
      if (value.length < (kind === 'secret' ? MIN_SECRET : MIN_ENV)) continue;
      const shown = `[${kind} ${name}]`;
      for (const form of formsOf(value)) replacements.set(form, shown);
    }
  }
  const longestFirst = [...replacements].sort(([a], [b]) => b.length - a.length);
  return (text) => {
    let result = text;
    for (const [value, shown] of longestFirst) if (result.includes(value)) result = result.replaceAll(value, shown);
    return result;
  };
}

function formsOf(value: string): string[] {
  const json = JSON.stringify(value).slice(1, -1);
  const url = encodeURIComponent(value);
  const bytes = Buffer.from(value);
  const hex = bytes.toString('hex');
  return [
    value,
    json,
    JSON.stringify(json).slice(1, -1),
    url,
    url.replaceAll(/%[0-9A-F]{2}/g, (escaped) => escaped.toLowerCase()),
    bytes.toString('base64'),
    bytes.toString('base64url'),
    hex,
    hex.toUpperCase(),
    ...[0, 1, 2].flatMap((before) => insideBase64(bytes, before)),
  ];
}

/** What is always the same of a value's base64 behind `before` bytes (modulo three) and whatever follows; in both alphabets. */
function insideBase64(value: Buffer, before: number): string[] {
  const encoded = Buffer.concat([Buffer.alloc(before), value]).toString('base64url');
  const whole = Math.floor(((before + value.length) * 8) / 6); // a character beyond holds bits of what follows
  const inside = encoded.slice(Math.ceil((before * 8) / 6), whole);
  if (inside.length < MIN_INSIDE) return [];
  return [inside, inside.replaceAll('-', '+').replaceAll('_', '/')];
}
