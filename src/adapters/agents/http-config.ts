import { z } from 'zod';
import { pointerTokens } from '../../lib/json-pointer.ts';
import { DEFAULT_MAX_BODY_BYTES } from '../transport/http-client.ts';

const pointer = z.string().refine(isPointer, { error: 'must be a JSON pointer: empty, or starting with `/`' });
const preset = z.enum(['native', 'openai_chat']);

/** Where the envelope's members stand in the response body: a known format, or JSON pointers. */
export const responseMappingSchema = z.union([
  z.strictObject({ preset: preset.describe('native: the body is the envelope; openai_chat: a chat completion') }),
  z
    .strictObject({
      text: pointer.optional(),
      structured: pointer.optional(),
      tool_calls: pointer.optional(),
      usage: pointer.optional(),
      metadata: pointer.optional(),
      trace: pointer.optional(),
    })
    .refine((pointers) => Object.values(pointers).some((value) => value !== undefined), {
      error: 'needs `preset` or at least one pointer',
    }),
]);
export type ResponseMapping = z.output<typeof responseMappingSchema>;

const chatBodySchema = z.strictObject({
  preset: z.literal('openai_chat'),
  model: z.string().min(1).optional(),
  system: z.string().min(1).optional().describe('A system message before the input'),
  members: z.record(z.string(), z.json()).default({}).describe('Further members of the request, such as temperature'),
});

/** What is sent: the native document, or a chat completion request with the input as the user's message. */
export const requestBodySchema = z.union([preset, z.strictObject({ preset: z.literal('native') }), chatBodySchema]);
export type RequestBody = z.output<typeof requestBodySchema>;

/** The `endpoint` of an agent of kind `http`. */
export const endpointSchema = z.strictObject({
  url: z.string().min(1).describe('http or https; may hold references to secrets'),
  method: z.enum(['POST', 'PUT', 'PATCH']).default('POST'),
  headers: z.record(z.string().regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, 'must be a header name'), z.string()).default({}),
  timeout_ms: z
    .number()
    .int()
    .positive()
    .max(2_000_000_000)
    .optional()
    .describe('Time for one call, below defaults.request_timeout_ms'),
  body: requestBodySchema.optional().describe('Default: openai_chat when the response is, else native'),
  response: responseMappingSchema.default({ preset: 'native' }),
  max_body_bytes: z.number().int().positive().default(DEFAULT_MAX_BODY_BYTES),
  redirects: z.number().int().nonnegative().max(20).default(0).describe('Redirects followed within the same origin'),
  cross_origin_redirects: z.boolean().default(false).describe('Follow to other origins too, without the headers above'),
  private_addresses: z
    .enum(['allow', 'deny', 'named'])
    .default('named')
    .describe('named: only when the URL itself names a private host'),
});
export type Endpoint = z.output<typeof endpointSchema>;

function isPointer(text: string): boolean {
  return text === '' || (text.startsWith('/') && pointerTokens(text).length > 0);
}
