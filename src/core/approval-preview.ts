import { canonicalJson, digestText } from '../lib/canonical-json.ts';

/** What a person is shown of a call before the answer; all of it, with what hides made visible. */
export interface ApprovalPreview {
  readonly text: string;
  /** Kept with the answer: what exactly the person saw. */
  readonly digest: string;
  /** True when the call is longer than a screen takes: an answer needs the digest, which stands at its end. */
  readonly long: boolean;
}

/** What a preview is made of. */
export interface PreviewInput {
  readonly tool: string;
  readonly risk: string;
  readonly principal: string;
  readonly agent: string | null;
  readonly reason: string | null;
  /** Canonical JSON. */
  readonly arguments: string;
  /** Canonical JSON of the last call of the tool that was approved; null when there was none. */
  readonly last_approved: string | null;
}

const LONG_CHARACTERS = 4_000;

/** The preview of a call: tool, caller, every argument on lines of its own, and what differs from the last approved call. */
export function approvalPreview(input: PreviewInput): ApprovalPreview {
  const before = input.last_approved === null ? null : (JSON.parse(input.last_approved) as Record<string, unknown>);
  const now = JSON.parse(input.arguments) as Record<string, unknown>;
  const lines = [
    `tool       ${plain(input.tool)} (${input.risk})`,
    `caller     ${plain(input.principal)}${input.agent === null ? '' : `, agent ${plain(input.agent)}`}`,
    ...(input.reason === null ? [] : [`reason     ${plain(input.reason)}`]),
    ...(Object.keys(now).length === 0 ? ['arguments  none'] : ['arguments']),
    ...Object.entries(now).map(
      ([name, value]) => `  ${plain(name)}: ${shownValue(value)}${difference(before, name, value)}`,
    ),
    ...Object.keys(before ?? {})
      .filter((name) => !Object.hasOwn(now, name))
      .map((name) => `  (without ${plain(name)}, which the last approved call had)`),
  ];
  const text = lines.join('\n');
  return { text, digest: digestText('proctor/approval_preview/1', text), long: text.length > LONG_CHARACTERS };
}

function shownValue(value: unknown): string {
  return plain(JSON.stringify(value, null, 2).replaceAll('\n', '\n  '), true);
}

function difference(before: Record<string, unknown> | null, name: string, value: unknown): string {
  if (before === null) return '';
  if (!Object.hasOwn(before, name)) return '   (new: the last approved call had none)';
  const last = before[name];
  if (canonicalJson(last) === canonicalJson(value)) return '';
  return `   (last approved: ${plain(cut(JSON.stringify(last), 120))})`;
}

function cut(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most)}…` : text;
}

/** Text with every character that could hide or reorder something (controls, bidi, zero width, line separators) as its code point. */
export function visible(text: string, lineEnds = false): string {
  return text.replaceAll(HIDING, (character) => (lineEnds && character === '\n' ? character : codePoint(character)));
}

/** The same on one line; and letters of other alphabets in the middle of a Latin word, which pass for ours, are shown as what they are. */
function plain(text: string, lineEnds = false): string {
  const honest = text.replaceAll(WORD, (word) =>
    LATIN.test(word) && LOOK_ALIKE.test(word) ? word.replaceAll(LOOK_ALIKES, codePoint) : word,
  );
  return visible(honest, lineEnds);
}

function codePoint(character: string): string {
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
}

const WORD = /[\p{L}\p{M}\p{N}]+/gu;
const LATIN = /\p{Script=Latin}/u;
const LOOK_ALIKE =
  /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Cherokee}\p{Script=Coptic}\p{Script=Lisu}]/u;
const LOOK_ALIKES = new RegExp(LOOK_ALIKE, 'gu');

// Cc controls, Cf formats (bidi, zero width, tags), Zl and Zp line separators, variation selectors, fillers that render as nothing.
const HIDING =
  /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]|[\u{115f}\u{1160}\u{3164}\u{ffa0}]|[\u{fe00}-\u{fe0f}]|[\u{e0100}-\u{e01ef}]/gu;
