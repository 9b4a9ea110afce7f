/** A way to write a text down, by its name. */
export interface Form {
  readonly name: string;
  write(text: string): string;
}

const NAMES: Readonly<Record<string, string>> = {
  ä: 'auml',
  ö: 'ouml',
  ü: 'uuml',
  ß: 'szlig',
  '&': 'amp',
  '<': 'lt',
  '>': 'gt',
  '"': 'quot',
  "'": 'apos',
  '/': 'sol',
  '+': 'plus',
  '=': 'equals',
  '-': 'hyphen',
};

const units = (text: string) => Array.from({ length: text.length }, (_, index) => text.charAt(index));
const code = (unit: string) => unit.charCodeAt(0).toString(16).padStart(4, '0');
const json = (text: string) => JSON.stringify(text).slice(1, -1);
const bytes = (text: string) => [...Buffer.from(text)].map((byte) => byte.toString(16).padStart(2, '0'));
const ascii = (text: string) => text.replace(/[^ -~]/g, (unit) => `\\u${code(unit)}`);
const base64 = (before: number, text: string, kind: 'base64' | 'base64url' = 'base64') =>
  Buffer.from(`${'user:'.slice(0, before)}${text}:end`).toString(kind);
const wrapped = (text: string, width: number) => text.replace(new RegExp(`.{${width}}`, 'gs'), '$&\r\n');

/** Every usual way in which a secret comes back. */
export const FORMS: readonly Form[] = [
  { name: 'as it is', write: (text) => text },
  { name: 'as a string of JSON', write: json },
  { name: 'as a string of JSON in ASCII', write: (text) => ascii(json(text)) },
  {
    name: 'as JSON with every unit escaped, lower',
    write: (text) =>
      units(text)
        .map((unit) => `\\u${code(unit)}`)
        .join(''),
  },
  {
    name: 'as JSON with every unit escaped, upper',
    write: (text) =>
      units(text)
        .map((unit) => `\\u${code(unit).toUpperCase()}`)
        .join(''),
  },
  { name: 'as JSON with escaped slashes', write: (text) => json(text).replaceAll('/', '\\/') },
  { name: 'as JSON fit for a page', write: (text) => json(text).replace(/[<>&']/g, (unit) => `\\u${code(unit)}`) },
  { name: 'as JSON in JSON', write: (text) => json(json(text)) },
  { name: 'as JSON in JSON, in ASCII', write: (text) => json(ascii(json(text))) },
  { name: 'in a URL', write: (text) => encodeURIComponent(text) },
  {
    name: 'in a URL, lower',
    write: (text) => encodeURIComponent(text).replace(/%[0-9A-F]{2}/g, (byte) => byte.toLowerCase()),
  },
  { name: 'in a form', write: (text) => new URLSearchParams([['', text]]).toString().slice(1) },
  {
    name: 'in a URL, every byte',
    write: (text) =>
      bytes(text)
        .map((byte) => `%${byte}`)
        .join(''),
  },
  { name: 'in a URL in a URL', write: (text) => encodeURIComponent(encodeURIComponent(text)) },
  { name: 'in base64', write: (text) => Buffer.from(text).toString('base64') },
  { name: 'in base64 without padding', write: (text) => Buffer.from(text).toString('base64').replace(/=+$/, '') },
  { name: 'in base64 for URLs', write: (text) => Buffer.from(text).toString('base64url') },
  { name: 'in base64 behind one byte', write: (text) => base64(1, text) },
  { name: 'in base64 behind two bytes', write: (text) => base64(2, text) },
  { name: 'in base64 behind three bytes', write: (text) => base64(3, text, 'base64url') },
  { name: 'in base64 in lines', write: (text) => wrapped(base64(5, text), 7) },
  { name: 'in base64 in base64', write: (text) => Buffer.from(base64(4, text)).toString('base64') },
  { name: 'in base64 of UTF-16', write: (text) => Buffer.from(`x${text}`, 'utf16le').toString('base64') },
  { name: 'in hexadecimal, lower', write: (text) => bytes(text).join('') },
  { name: 'in hexadecimal, upper', write: (text) => bytes(`x${text}`).join('').toUpperCase() },
  {
    name: 'as bytes in a string',
    write: (text) =>
      bytes(text)
        .map((byte) => `\\x${byte}`)
        .join(''),
  },
  {
    name: 'in HTML, decimal',
    write: (text) =>
      units(text)
        .map((unit) => `&#${unit.charCodeAt(0)};`)
        .join(''),
  },
  {
    name: 'in HTML, hexadecimal',
    write: (text) =>
      units(text)
        .map((unit) => `&#x${code(unit)};`)
        .join(''),
  },
  {
    name: 'in HTML, by name',
    write: (text) =>
      text.replace(/[^\w ]/g, (unit) => (NAMES[unit] === undefined || unit === '-' ? unit : `&${NAMES[unit]};`)),
  },
  { name: 'in upper case', write: (text) => text.toUpperCase() },
  { name: 'in lower case', write: (text) => text.toLowerCase() },
  { name: 'in two lines', write: (text) => `${text.slice(0, 4)}\n${text.slice(4)}` },
  { name: 'in two lines with an indentation', write: (text) => `${text.slice(0, 3)}\r\n    ${text.slice(3)}` },
  { name: 'with decomposed letters', write: (text) => text.normalize('NFD') },
];
