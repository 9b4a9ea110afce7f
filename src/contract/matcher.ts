import { z } from 'zod';
import { SQL_DIALECTS, SQL_KINDS } from './sql.ts';

const glob = z.string().min(1).max(200);
/** One glob or several. */
export const globs = z.union([glob.transform((one) => [one]), z.array(glob).min(1).max(200)]);
const literal = z.union([z.string().max(10_000), z.number(), z.boolean(), z.null()]);
const literals = z.array(literal).min(1).max(1_000);

const oneOrMany = <Item extends z.ZodType>(item: Item, most: number) =>
  z.union([item.transform((one) => [one] as z.output<Item>[]), z.array(item).min(1).max(most)]);

/** The schemes that `url` knows, each with its default port. */
export const URL_SCHEMES = { http: 80, https: 443, ws: 80, wss: 443 } as const;
export type UrlScheme = keyof typeof URL_SCHEMES;

const urlSchema = z.union([
  oneOrMany(z.string().min(1).max(2_000), 200).describe(
    '`https://host/path`: this scheme, host, port, and all below this path',
  ),
  z
    .strictObject({
      scheme: oneOrMany(z.enum(Object.keys(URL_SCHEMES) as [UrlScheme, ...UrlScheme[]]), 4)
        .optional()
        .describe('https or wss unless said'),
      host: globs.optional().describe('globs on the host, in lower case'),
      port: oneOrMany(z.number().int().min(1).max(65_535), 100).optional().describe('the scheme’s own unless said'),
      path: oneOrMany(z.string().startsWith('/').max(2_000), 200)
        .optional()
        .describe('this path and all below it; any path unless said'),
    })
    .refine((url) => Object.values(url).some((member) => member !== undefined), 'names nothing to match'),
]);
/** A URL by its parts. */
export type UrlMatcher = Exclude<z.output<typeof urlSchema>, string[]>;

const sqlSchema = z.strictObject({
  dialect: z.enum(SQL_DIALECTS),
  statements: oneOrMany(z.enum(SQL_KINDS), SQL_KINDS.length).optional().describe('what the statements do'),
  reads: globs.optional().describe('globs on the tables that are read, as the statement names them'),
  writes: globs.optional().describe('globs on the tables that are written or defined'),
  functions: globs.optional().describe('functions that may be called besides those known to do nothing but compute'),
});
export type SqlMatcher = z.output<typeof sqlSchema>;

const members = {
  eq: literal.optional().describe('equal to this value'),
  in: literals.optional().describe('equal to one of these values'),
  glob: globs.optional().describe('text that one of these globs matches; `*` matches any number of characters'),
  under: z
    .string()
    .min(1)
    .optional()
    .describe(
      'an absolute path inside this folder, however it is written and whatever links lead to; `./folder` is one of the project',
    ),
  host: globs
    .optional()
    .describe('an http or https URL whose host one of these globs matches, on any port; no user or password in it'),
  url: urlSchema.optional().describe('a URL by scheme, host, port and path'),
  sql: sqlSchema.optional().describe('statements of SQL, read by a parser'),
  min: z.number().optional(),
  max: z.number().optional(),
  max_bytes: z
    .number()
    .int()
    .nonnegative()
    .optional()
    .describe('bytes of a text in UTF-8, or of the canonical JSON of anything else'),
  has: z.boolean().optional().describe('whether the argument is there at all'),
};
const named = (matcher: object) => Object.values(matcher).some((member) => member !== undefined);
const elementSchema = z.strictObject(members).refine(named, 'names nothing to match');

/** One matcher of an argument; several members must all hold. */
export const matcherSchema = z
  .strictObject({
    ...members,
    each: z
      .union([literal, literals, elementSchema])
      .optional()
      .describe('a list of which every element matches; an empty list tells nothing'),
  })
  .refine(named, 'names nothing to match');
export type Matcher = z.output<typeof matcherSchema>;

/** A condition: a literal value, a list of values, a matcher, or `not` one. */
export const conditionSchema = z.union([
  literal,
  literals,
  z.strictObject({ not: z.union([literal, literals, matcherSchema]) }),
  matcherSchema,
]);
export type Condition = z.output<typeof conditionSchema>;
