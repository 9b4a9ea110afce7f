/** Takes the secrets that a process knows out of what it keeps or shows; what holds none comes back as it is, the same object. */
export interface Redaction {
  /** The text with every form of a secret replaced by a marker such as `[secret NAME]`. */
  text(text: string): string;
  /** The JSON value with every form of a secret replaced in its texts and its members' names; a number that is one becomes the marker. */
  json<T>(value: T): T;
  /** The same with one more secret, for what is secret for a while only. */
  with(value: string, marker: string): Redaction;
}
