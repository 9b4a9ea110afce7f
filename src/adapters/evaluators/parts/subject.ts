import { z } from 'zod';
import { type Envelope, envelopeSchema } from '../../../contract/agent.ts';
import { pointerTokens, pointerValue } from '../../../lib/json-pointer.ts';
import { plain, shown } from './shown.ts';

const MEMBERS = Object.keys(envelopeSchema.shape);

/** A JSON pointer (RFC 6901). */
export const pointerSchema = z.string().regex(/^(?:\/(?:[^~/]|~[01])*)*$/, {
  error: 'must be a JSON pointer: empty, or `/member/…` with ~0 for ~ and ~1 for /',
  abort: true,
});

/** A JSON pointer into the envelope, such as `/structured/label`. */
export const envelopePointerSchema = pointerSchema.refine(
  (pointer) => MEMBERS.includes(pointerTokens(pointer)[0] ?? ''),
  {
    error: `must start at a member of the envelope (${MEMBERS.map((member) => `/${member}`).join(', ')}), as in /structured/label`,
  },
);

/** What an evaluator looks at: a value of the envelope and its name for reasons. */
export interface Subject {
  readonly name: string;
  value(envelope: Envelope): unknown;
}

/** The envelope's `text`, or what the pointer leads to. */
export function subjectAt(field: string | undefined): Subject {
  if (field === undefined || field === '/text') return { name: 'the text', value: (envelope) => envelope.text };
  return { name: `\`${plain(field)}\``, value: (envelope) => pointerValue(envelope, field) };
}

/** Why a subject is no text that could be graded, and where the answer may be instead. */
export function noTextReason(subject: Subject, envelope: Envelope): string {
  const value = subject.value(envelope);
  if (value !== undefined && value !== null) return `${subject.name} is not text but ${shown(value)}`;
  const elsewhere =
    subject.name === 'the text' && envelope.structured !== null
      ? '; `structured` is set: name the member by `field: /structured/…`'
      : '';
  return `the envelope has no ${subject.name.replace(/^the /, '')}${elsewhere}`;
}
