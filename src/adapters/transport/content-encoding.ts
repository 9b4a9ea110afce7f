import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate, zstdDecompress } from 'node:zlib';

const DECODERS = {
  gzip: promisify(gunzip),
  'x-gzip': promisify(gunzip),
  deflate: promisify(inflate),
  br: promisify(brotliDecompress),
  zstd: promisify(zstdDecompress),
} as const;

/** A body without its content encoding, or why it cannot be had. */
export type Decoded =
  | { readonly type: 'body'; readonly body: Buffer }
  | { readonly type: 'error'; readonly code: 'oversize_body' | 'invalid_response'; readonly message: string };

/** Undoes a response's `Content-Encoding`, which a server may use although none was asked for; the result is bounded. */
export async function decodeContent(body: Buffer, encoding: string | undefined, maxBytes: number): Promise<Decoded> {
  const name = encoding?.trim().toLowerCase() ?? '';
  if (name === '' || name === 'identity' || body.length === 0) return { type: 'body', body };
  if (!Object.hasOwn(DECODERS, name))
    return {
      type: 'error',
      code: 'invalid_response',
      message: `the response has the content encoding \`${name}\`, which was not asked for`,
    };
  try {
    return { type: 'body', body: await DECODERS[name as keyof typeof DECODERS](body, { maxOutputLength: maxBytes }) };
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'ERR_BUFFER_TOO_LARGE')
      return {
        type: 'error',
        code: 'oversize_body',
        message: `the response body is limited to ${maxBytes} bytes and inflates to more`,
      };
    return {
      type: 'error',
      code: 'invalid_response',
      message: `the response body is not the \`${name}\` it claims to be: ${(error as Error).message}`,
    };
  }
}
