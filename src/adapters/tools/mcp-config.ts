import { z } from 'zod';

const name = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/);

/** Members of a source of kind `mcp`: a program that speaks MCP on its standard streams, or a URL. */
export const mcpConfigSchema = z
  .strictObject({
    command: z
      .array(z.string())
      .min(1)
      .optional()
      .describe('a program and its arguments; nothing of this environment but PATH, HOME and the language reaches it'),
    cwd: z.string().min(1).default('.'),
    env: z.record(name, z.string()).default({}),
    url: z.string().optional().describe('an MCP server over streamable HTTP'),
    headers: z.record(z.string(), z.string()).default({}),
    private_addresses: z.enum(['allow', 'deny', 'named']).default('named'),
    protocol: z
      .enum(['auto', '2025-11-25', '2026-07-28'])
      .default('auto')
      .describe('the revision spoken; auto asks the server'),
    oauth: z
      .strictObject({
        client_id: z
          .string()
          .optional()
          .describe('a client registered beforehand; unsaid: by metadata document or dynamic registration'),
        client_secret: z.string().optional(),
        client_metadata_url: z.string().optional(),
        scope: z.string().optional(),
        redirect_port: z.number().int().min(1).max(65_535).default(4791),
      })
      .optional()
      .describe('sign in with `proctor tool login SOURCE`'),
    connect_timeout_ms: z.number().int().positive().default(15_000),
  })
  .superRefine((config, context) => {
    const ways = [config.command, config.url].filter((way) => way !== undefined).length;
    if (ways !== 1) context.addIssue({ code: 'custom', path: ['command'], message: 'needs either `command` or `url`' });
    if (config.url !== undefined && !/^https?:\/\//.test(config.url))
      context.addIssue({ code: 'custom', path: ['url'], message: 'must be an http or https URL' });
    else if (config.url !== undefined && URL.canParse(config.url) && new URL(config.url).username !== '')
      context.addIssue({
        code: 'custom',
        path: ['url'],
        message: 'holds a user name; write credentials as `headers` with a secret',
      });
  });
export type McpConfig = z.output<typeof mcpConfigSchema>;
