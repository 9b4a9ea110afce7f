import { type Readable, Transform } from 'node:stream';
import { MAX_JSON_ISSUES } from '../lib/json-issue.ts';
import { LineSplitter } from '../lib/line-splitter.ts';
import { parseStrictJson } from '../lib/strict-json.ts';

/** A JSON-RPC error in answer to a message that is not read. */
export interface MessageFault {
  readonly jsonrpc: '2.0';
  readonly id: string | number | null;
  readonly error: { readonly code: number; readonly message: string };
}

const MOST_LINE_BYTES = 10 * 1024 * 1024;
const PARSE_ERROR = -32_700;
const INVALID_REQUEST = -32_600;

/**
 * What is wrong with the text of a message; null when it may be read. Of two members with one name parsers take the one or the other, so what
 * is decided might not be what was meant: such a message is refused as a whole.
 */
export function messageFault(text: string): MessageFault | null {
  const parsed = parseStrictJson(text);
  const countless = parsed.issues.length >= MAX_JSON_ISSUES; // a doubled name behind them would not be told
  const issue = parsed.issues.find(({ kind }) => parsed.type === 'invalid' || countless || kind === 'duplicate_key');
  if (issue === undefined) return null;
  const { id } = (parsed.type === 'value' ? (parsed.value ?? {}) : {}) as { id?: unknown };
  return {
    jsonrpc: '2.0',
    id: typeof id === 'string' || typeof id === 'number' ? id : null,
    error: {
      code: parsed.type === 'invalid' ? PARSE_ERROR : INVALID_REQUEST,
      message: `the message is not plain JSON: ${issue.message}`,
    },
  };
}

/** The lines of a stream of messages that may be read; the others are answered. */
export function plainMessages(input: Readable, answer: (fault: MessageFault) => void): Transform {
  const lines = new LineSplitter(MOST_LINE_BYTES);
  const checked = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      for (const { bytes, size } of lines.push(chunk)) {
        const fault = bytes === null ? tooLong(size) : bytes.length === 0 ? null : messageFault(bytes.toString());
        if (fault !== null) answer(fault);
        else if (bytes !== null && bytes.length > 0) this.push(Buffer.concat([bytes, NEWLINE]));
      }
      done();
    },
  });
  input.on('error', (error) => checked.destroy(error));
  return input.pipe(checked);
}

const NEWLINE = Buffer.from('\n');

function tooLong(size: number): MessageFault {
  const message = `the message has ${size} bytes; the most is ${MOST_LINE_BYTES}`;
  return { jsonrpc: '2.0', id: null, error: { code: INVALID_REQUEST, message } };
}
