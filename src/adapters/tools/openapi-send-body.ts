import { randomUUID } from 'node:crypto';
import { type BodyBinding, isMembers, type Members, type Writing } from './openapi-binding.ts';
import { misfit, pairsOf } from './openapi-style.ts';

/** A body and the type that it is sent as. */
export interface SentBody {
  readonly text: string;
  readonly media_type: string;
}

/** The argument `body` as the operation takes it. */
export function sentBody(binding: BodyBinding, value: unknown): SentBody {
  switch (binding.form) {
    case 'json':
      return { text: JSON.stringify(value), media_type: binding.media_type };
    case 'text':
      if (typeof value !== 'string') throw misfit('the body is sent as text, so the argument `body` must be a text');
      return { text: value, media_type: binding.media_type };
    case 'urlencoded':
      return { text: urlencoded(binding, fieldsOf(value)), media_type: binding.media_type };
    default:
      return multipart(binding, fieldsOf(value));
  }
}

function fieldsOf(value: unknown): Members {
  if (!isMembers(value)) throw misfit('the body is sent as a form, so the argument `body` must be an object');
  return value;
}

/** Where the document says nothing else: lists are repeated fields, objects are JSON. */
function urlencoded({ fields }: BodyBinding, value: Members): string {
  return Object.entries(value)
    .flatMap(([name, member]) => {
      const said = fields.find((field) => field.name === name)?.writing ?? null;
      if (said !== null) return pairsOf(said, member);
      const writing: Writing = { name, style: 'form', explode: true, reserved: false, json: false };
      return itemsOf(member).flatMap((item) => pairsOf({ ...writing, json: typeof item === 'object' }, item));
    })
    .join('&');
}

function multipart({ fields, media_type }: BodyBinding, value: Members): SentBody {
  const boundary = `proctor-${randomUUID()}`; // nobody who writes a value can know it
  const parts = Object.entries(value).flatMap(([name, member]) => {
    const said = fields.find((field) => field.name === name)?.media_type ?? null;
    const type = said !== null && !said.includes('*') && !said.includes(',') ? said : null;
    return itemsOf(member).map((item) => {
      const json = typeof item === 'object';
      const kind = type ?? (json ? 'application/json' : null);
      const head = `Content-Disposition: form-data; name="${quoted(name)}"${kind === null ? '' : `\r\nContent-Type: ${kind}`}`;
      return `--${boundary}\r\n${head}\r\n\r\n${json ? JSON.stringify(item) : String(item)}\r\n`;
    });
  });
  return { text: `${parts.join('')}--${boundary}--\r\n`, media_type: `${media_type}; boundary=${boundary}` };
}

function itemsOf(member: unknown): readonly unknown[] {
  return (Array.isArray(member) ? member : [member]).filter((item) => item !== null);
}

/** As browsers write a field's name, so that it ends where it should. */
function quoted(name: string): string {
  return name.replaceAll('\r', '%0D').replaceAll('\n', '%0A').replaceAll('"', '%22');
}
