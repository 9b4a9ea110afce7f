import { pathToFileURL } from 'node:url';

/** One tool of a user's module. */
interface ModuleTool {
  readonly title?: string;
  readonly description?: string;
  readonly input_schema?: unknown;
  readonly output_schema?: unknown;
  readonly risk?: unknown;
  readonly annotations?: unknown;
  readonly run?: unknown;
}

type Request =
  | { readonly type: 'list'; readonly path: string }
  | {
      readonly type: 'call';
      readonly path: string;
      readonly name: string;
      readonly arguments: unknown;
      readonly idempotency_key: string;
      readonly config: unknown;
    };

/** Runs in the module's thread: lists the tools of its export `tools` (a mapping by name), or runs one of them. */
export async function serve(request: Request, { signal }: { signal: AbortSignal }): Promise<unknown> {
  const { tools } = (await import(pathToFileURL(request.path).href)) as { tools?: unknown };
  if (typeof tools !== 'object' || tools === null)
    throw new TypeError('it exports no `tools`: a mapping of names to {description, input_schema, run}');
  if (request.type === 'list')
    return Object.entries(tools as Record<string, ModuleTool>).map(([name, tool]) => {
      if (typeof tool?.run !== 'function') throw new TypeError(`its tool \`${name}\` has no function \`run\``);
      const { title, description, input_schema, output_schema, annotations, risk } = tool;
      return { name, title, description, input_schema, output_schema, annotations, risk };
    });
  const tool = Object.hasOwn(tools, request.name) ? (tools as Record<string, ModuleTool>)[request.name] : undefined;
  if (typeof tool?.run !== 'function') throw new TypeError(`it has no tool \`${request.name}\``);
  const { idempotency_key, config } = request;
  const value = await (tool.run as (input: unknown, more: unknown) => unknown)(request.arguments, {
    signal,
    idempotency_key,
    config,
  });
  return value === undefined ? null : value;
}
