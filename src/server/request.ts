import type { z } from 'zod';
import { diagnostic, ProctorError } from '../contract/problem.ts';
import { parseStrictJson } from '../lib/strict-json.ts';

/** The body of a request by a schema; `invalid_input` lists what is wrong with it. */
export async function jsonBody<Schema extends z.ZodType>(request: Request, schema: Schema): Promise<z.output<Schema>> {
  if (!/^application\/json\b/i.test(request.headers.get('content-type') ?? ''))
    throw new ProctorError('invalid_input', 'the body must be application/json'); // which no form of a page can send
  const parsed = parseStrictJson(await request.text(), { max_depth: 64 });
  const [issue] = parsed.issues;
  if (parsed.type === 'invalid' || issue !== undefined)
    throw new ProctorError('invalid_input', `the body is not plain JSON: ${issue?.message ?? 'it cannot be read'}`);
  const result = schema.safeParse(parsed.value);
  if (result.success) return result.data;
  throw new ProctorError('invalid_input', 'the body does not fit', {
    diagnostics: result.error.issues.map((one) => diagnostic(one.message, { field: one.path.join('.') || null })),
  });
}

/** A page's size from a query: 1 to 200, 50 unless said. */
export function pageSize(text: string | undefined): number {
  if (text === undefined) return 50;
  if (!/^[1-9][0-9]{0,2}$/.test(text) || Number(text) > 200)
    throw new ProctorError('invalid_input', `\`limit\` is \`${text.slice(0, 20)}\`; it must be 1 to 200`);
  return Number(text);
}
