import { isMembers, type Members, type OperationBinding, type OperationTool, Unusable } from './openapi-binding.ts';
import { operationBody } from './openapi-body.ts';
import { operationParameters, type Supplied } from './openapi-parameters.ts';
import { followed } from './openapi-reference.ts';
import { operationOutput } from './openapi-responses.ts';
import type { SchemaTranslator } from './openapi-schema.ts';
import { baseUrl, type Whereabouts } from './openapi-server.ts';

/** An operation as the document has it. */
export interface FoundOperation {
  readonly method: string;
  readonly path: string;
  readonly operation_id: unknown;
  readonly operation: unknown;
  /** Of its path: shared parameters and servers. */
  readonly shared: Members;
}

/** What tools are made with. */
export interface Workshop {
  readonly root: Members;
  readonly where: Whereabouts;
  readonly supplied: Supplied;
  readonly requests: SchemaTranslator;
  readonly responses: SchemaTranslator;
  readonly check_output: boolean;
}

const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch'] as const;
const SAFE: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);
const IDEMPOTENT: ReadonlySet<string> = new Set([...SAFE, 'PUT', 'DELETE']);
const MOST_INPUT = 256 * 1024;
const MOST_DESCRIPTION = 10_000;

/** Every operation of a document, and the paths that cannot be read. */
export function foundOperations(root: Members): {
  readonly operations: FoundOperation[];
  readonly refused: { name: string; reason: string }[];
} {
  const operations: FoundOperation[] = [];
  const refused: { name: string; reason: string }[] = [];
  const paths = isMembers(root['paths']) ? root['paths'] : {};
  for (const [path, item] of Object.entries(paths)) {
    if (path.startsWith('x-')) continue;
    try {
      const shared = followed(root, item, `the path \`${path.slice(0, 80)}\``);
      for (const method of METHODS) {
        const operation = shared[method];
        if (operation === undefined) continue;
        const operation_id = isMembers(operation) ? operation['operationId'] : null;
        operations.push({ method: method.toUpperCase(), path, operation_id, operation, shared });
      }
    } catch (error) {
      if (!(error instanceof Unusable)) throw error;
      refused.push({ name: path, reason: error.message });
    }
  }
  return { operations, refused };
}

/** The tool of an operation; throws `Unusable` when none can be made of it. */
export function operationTool(name: string, found: FoundOperation, shop: Workshop): OperationTool {
  const { method, path, operation, shared } = found;
  const { root } = shop;
  if (!isMembers(operation)) throw new Unusable('it is not an object');
  const server = baseUrl([operation['servers'], shared['servers'], root['servers']], shop.where);
  const { bindings, ...parameters } = operationParameters(
    root,
    [shared['parameters'], operation['parameters']],
    shop.supplied,
    shop.requests,
  );
  const written = pathTemplate(
    server,
    path,
    bindings.filter((one) => one.in === 'path').map((one) => one.name),
  );
  const body =
    method === 'GET' || method === 'HEAD' ? null : operationBody(root, operation['requestBody'], shop.requests);
  const bodySchema = body === null ? null : shop.requests.translate(body.schema);
  const uses = new Set([...parameters.uses, ...(bodySchema?.uses ?? [])]);
  const $defs = shop.requests.definitions(uses, MOST_INPUT);
  const output = operationOutput(root, method, operation['responses'], shop.responses, shop.check_output);
  const required = [...parameters.required, ...(body?.required ? ['body'] : [])];
  const binding: OperationBinding = {
    method,
    server,
    path: written,
    parameters: bindings,
    body: body?.binding ?? null,
    accept: output.accept,
    output: output.binding,
  };
  return {
    name,
    ...titled(operation, `${method} ${path}`),
    inputSchema: {
      type: 'object',
      properties: { ...parameters.properties, ...(bodySchema === null ? {} : { body: bodySchema.schema }) },
      ...(required.length === 0 ? {} : { required }),
      additionalProperties: false,
      ...(Object.keys($defs).length === 0 ? {} : { $defs }),
    },
    ...(output.schema === null ? {} : { outputSchema: output.schema }),
    annotations: {
      readOnlyHint: SAFE.has(method),
      ...(SAFE.has(method) ? {} : { idempotentHint: IDEMPOTENT.has(method) }),
      ...(method === 'DELETE' ? { destructiveHint: true } : {}),
      openWorldHint: true, // what a service answers may come from anybody, whoever wrote its description
    },
    operation: binding,
  };
}

function titled({ summary, description, deprecated }: Members, fallback: string): Record<string, string> {
  const parts = [summary, description].filter((part): part is string => typeof part === 'string' && part.trim() !== '');
  const text = [...(deprecated === true ? ['Deprecated.'] : []), ...(parts.length === 0 ? [fallback] : new Set(parts))];
  const whole = text.join('\n\n');
  const title = typeof summary === 'string' && summary.length <= 100 && summary.trim() !== '' ? { title: summary } : {};
  return { ...title, description: whole.length > MOST_DESCRIPTION ? `${whole.slice(0, MOST_DESCRIPTION)}…` : whole };
}

/** The template with its fixed parts encoded; refused unless its placeholders are its parameters and it stays below the server. */
function pathTemplate(server: string, path: string, parameters: readonly string[]): string {
  const shown = `its path \`${path.slice(0, 120)}\``;
  if (!path.startsWith('/') || !path.isWellFormed())
    throw new Unusable(`${shown} is not a path: it must begin with a slash and be well-formed text`);
  const placeholders = [...path.matchAll(/\{([^{}]*)\}/g)].map(([, name]) => name ?? '');
  const strange = placeholders.find((name) => !parameters.includes(name));
  if (strange !== undefined) throw new Unusable(`${shown} has \`{${strange}}\`, for which there is no parameter`);
  const left = parameters.find((name) => !placeholders.includes(name));
  if (left !== undefined) throw new Unusable(`${shown} has no place for its parameter \`${left.slice(0, 80)}\``);
  const fixed = path.split(/\{[^{}]*\}/);
  if (fixed.some((part) => /[{}?#\\]/.test(part))) throw new Unusable(`${shown} has characters that no path has`);
  const encoded = path.replaceAll(/(\{[^{}]*\})|%[0-9A-Fa-f]{2}|[^{}]/gu, (part) =>
    /^(\{|%[0-9A-Fa-f])/.test(part) || /^[A-Za-z0-9._~!$&'()*+,;=:@/-]$/.test(part) ? part : encodeURIComponent(part),
  );
  const base = new URL(server).pathname.replace(/\/+$/, '');
  const example = base + encoded.replaceAll(/\{[^{}]*\}/g, 'x');
  const url = new URL(new URL(server).origin + example);
  if (url.pathname !== example || url.origin !== new URL(server).origin)
    throw new Unusable(`${shown} leads out of its server`);
  return encoded;
}
