import type { Redaction } from '../../contract/redaction.ts';
import type { Found } from './automaton.ts';
import { SecretSearch } from './search.ts';

/** The value of a secret, and what is to stand in its place. */
export interface NamedSecret {
  readonly value: string;
  readonly marker: string;
}

/** What stands in place of a secret when its own marker would tell one; the last where all would. */
const OTHER_MARKERS = ['[secret]', '[redacted]', '***', ''];
/** A marker may make a new match with what stands beside it; whoever has such secrets gets the whole text replaced after so many rounds. */
const MOST_ROUNDS = 4;

/** Takes secrets out of texts and JSON values: what holds none comes back as it is, the same object. */
export class Redactor implements Redaction {
  readonly #secrets: readonly NamedSecret[];
  readonly #search: SecretSearch;
  readonly #markers: readonly string[];
  readonly #numbers: ReadonlyMap<number, string>;

  constructor(secrets: readonly NamedSecret[]) {
    this.#secrets = secrets;
    this.#search = new SecretSearch(secrets.map(({ value }) => value));
    this.#markers = secrets.map(({ marker }) => this.#clean([marker, ...OTHER_MARKERS]));
    this.#numbers = new Map(
      secrets.flatMap(({ value }, owner) => {
        const number = Number(value);
        return Number.isFinite(number) ? [[number, this.#markers[owner] ?? ''] as const] : [];
      }),
    );
  }

  /** The text with every form of a secret replaced by its marker. */
  text(text: string): string {
    let clean = text;
    for (let round = 0; round < MOST_ROUNDS; round += 1) {
      const found = this.#search.find(clean);
      if (found.length === 0) return clean;
      clean = this.#replaced(clean, found);
    }
    return this.#clean([clean, ...OTHER_MARKERS]);
  }

  /** The JSON value with every form of a secret replaced in its texts and its members' names; a number that is one becomes its marker. */
  json<T>(value: T): T {
    return this.#value(value) as T;
  }

  with(value: string, marker: string): Redaction {
    return new Redactor([...this.#secrets, { value, marker }]);
  }

  #value(value: unknown): unknown {
    if (typeof value === 'string') return this.text(value);
    if (typeof value === 'number') return this.#number(value);
    if (typeof value !== 'object' || value === null) return value;
    return Array.isArray(value) ? this.#list(value) : this.#members(value);
  }

  #number(value: number): unknown {
    const marker = this.#numbers.get(value);
    if (marker !== undefined) return marker;
    const text = String(value);
    const clean = this.text(text);
    return clean === text ? value : clean;
  }

  #list(list: readonly unknown[]): unknown {
    let changed = false;
    const clean = list.map((item) => {
      const one = this.#value(item);
      changed ||= !Object.is(one, item);
      return one;
    });
    return changed ? clean : list;
  }

  #members(record: object): unknown {
    let changed = false;
    const taken = new Set<string>();
    const clean = Object.entries(record).map(([key, member]): [string, unknown] => {
      const name = free(this.text(key), taken);
      const value = this.#value(member);
      changed ||= name !== key || !Object.is(value, member);
      return [name, value];
    });
    return changed ? Object.fromEntries(clean) : record;
  }

  /** Every place replaced once; places that overlap count as one, with the marker of the longest. */
  #replaced(text: string, found: readonly Found[]): string {
    const parts: string[] = [];
    let read = 0;
    for (const { start, end, owner } of merged(found)) {
      parts.push(text.slice(read, start), this.#markers[owner] ?? '');
      read = end;
    }
    parts.push(text.slice(read));
    return parts.join('');
  }

  /** The first of the texts that holds no secret. */
  #clean(texts: readonly string[]): string {
    return texts.find((text) => this.#search.find(text).length === 0) ?? '';
  }
}

/** The places in their order, those that overlap as one. */
function merged(found: readonly Found[]): Found[] {
  const places: Found[] = [];
  let longest = 0;
  for (const one of found.toSorted((a, b) => a.start - b.start || b.end - a.end)) {
    const last = places.at(-1);
    if (last === undefined || one.start >= last.end) {
      places.push(one);
      longest = one.end - one.start;
      continue;
    }
    const owner = one.end - one.start > longest ? one.owner : last.owner;
    longest = Math.max(longest, one.end - one.start);
    places[places.length - 1] = { start: last.start, end: Math.max(last.end, one.end), owner };
  }
  return places;
}

/** A member's name that no other member has: two names may have been the same secret in different forms. */
function free(name: string, taken: Set<string>): string {
  let own = name;
  for (let number = 2; taken.has(own); number += 1) own = `${name} (${number})`;
  taken.add(own);
  return own;
}
