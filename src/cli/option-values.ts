import { InvalidArgumentError } from 'commander';

/** An option that may stand several times; a list after one option would swallow the arguments that follow. */
export function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}

/** A whole number, also 0. */
export function whole(value: string): number {
  if (!/^(0|[1-9][0-9]{0,8})$/.test(value)) throw new InvalidArgumentError('It must be a whole number.');
  return Number(value);
}

/** A p-value. */
export function share(value: string): number {
  const number = Number(value);
  if (!(value !== '' && number > 0 && number <= 0.5)) throw new InvalidArgumentError('It must lie above 0, up to 0.5.');
  return number;
}

/** A number from 0 to 1. */
export function fraction(value: string): number {
  const number = Number(value);
  if (!(value !== '' && number >= 0 && number <= 1)) throw new InvalidArgumentError('It must lie between 0 and 1.');
  return number;
}

/** A whole number above 0. */
export function positive(value: string): number {
  if (!/^[1-9][0-9]{0,8}$/.test(value)) throw new InvalidArgumentError('It must be a whole number above 0.');
  return Number(value);
}

/** A root: a SHA-256 in hexadecimal. */
export function root(value: string): string {
  if (!/^[0-9a-f]{64}$/i.test(value)) throw new InvalidArgumentError('It must be a root of 64 hexadecimal digits.');
  return value.toLowerCase();
}

/** A key of the user's own. */
export function runKey(value: string): string {
  if (!/^[^\p{Cc}]{1,200}$/u.test(value) || !value.isWellFormed())
    throw new InvalidArgumentError('It must be 1 to 200 printable characters.');
  return value;
}
