import { z } from 'zod';
import { documentUrl, FRAMING_HEADERS, TOKEN, urlFault } from './openapi-http.ts';

/** Members of a source of kind `openapi`: a document that describes an HTTP API. */
export const openapiConfigSchema = z
  .strictObject({
    document: z.string().min(1).describe('an OpenAPI 3.0 or 3.1 document, YAML or JSON: a file, or an http(s) URL'),
    document_headers: z.record(z.string(), z.string()).default({}).describe('sent when the document is fetched'),
    server: z
      .string()
      .optional()
      .describe('base URL of the API; unsaid: the document’s first server, which must be of the origin of its URL'),
    headers: z.record(z.string(), z.string()).default({}).describe(`sent with every call; \${secret:NAME} for secrets`),
    query: z.record(z.string(), z.string()).default({}).describe('query parameters of every call, as `headers`'),
    operations: z.array(z.string().min(1).max(100)).optional().describe('globs: only tools of these names are made'),
    check_output: z
      .boolean()
      .default(true)
      .describe('whether an answer that does not fit the schema in the document is an error'),
    private_addresses: z.enum(['allow', 'deny', 'named']).default('named'),
    redirects: z.number().int().min(0).max(10).default(0).describe('followed at most, within the origin only'),
    connections: z.number().int().min(1).max(100).default(10),
  })
  .superRefine(({ document, document_headers, server, headers }, context) => {
    const wrong = (path: (string | number)[], message: string) =>
      context.addIssue({ code: 'custom', path, message, input: undefined });
    const documentFault = documentUrl(document) === null ? null : urlFault(document);
    if (documentFault !== null) wrong(['document'], documentFault);
    const serverFault = server === undefined ? null : urlFault(server);
    if (serverFault !== null) wrong(['server'], serverFault);
    else if (server !== undefined && (new URL(server).search !== '' || new URL(server).hash !== ''))
      wrong(['server'], 'holds a query or a fragment; write query parameters as `query`');
    for (const [member, given] of Object.entries({ headers, document_headers }))
      for (const name of Object.keys(given))
        if (!TOKEN.test(name)) wrong([member, name], 'is not a valid header name');
        else if (FRAMING_HEADERS.has(name.toLowerCase())) wrong([member, name], 'is a header that is set by itself');
  });
export type OpenapiConfig = z.output<typeof openapiConfigSchema>;
