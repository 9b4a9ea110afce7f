import { isMembers, type Members, Unusable } from './openapi-binding.ts';
import { urlFault } from './openapi-http.ts';

/** Where requests may go to. */
export interface Whereabouts {
  /** URL that the document was fetched from; null for a file. */
  readonly document: string | null;
  /** What the operator wrote as `server`. */
  readonly server: string | null;
}

/**
 * The base URL of the operations that the given lists of servers are about, the most specific list first. Nothing of a caller goes
 * into it; and a document from elsewhere names no host but its own. Where the operator wrote a server, nothing goes to any other host.
 */
export function baseUrl(servers: readonly unknown[], { document, server }: Whereabouts): string {
  const specific = servers.slice(0, -1).find(isList);
  const named = specific ?? (server === null ? servers.find(isList) : undefined);
  const base = server ?? document;
  const text = named === undefined ? (server ?? '/') : expanded(named[0]);
  if (base === null && !/^[a-z][a-z0-9+.-]*:/i.test(text))
    throw new Unusable(
      `its server is \`${text.slice(0, 120)}\`, which is not a complete URL; write \`server\` beside \`document\``,
    );
  if (!URL.canParse(text, base ?? undefined)) throw new Unusable(`its server \`${text.slice(0, 120)}\` is no URL`);
  const url = new URL(text, base ?? undefined);
  const fault = urlFault(url.href);
  if (fault !== null) throw new Unusable(`its server \`${text.slice(0, 120)}\` ${fault}`);
  if (url.search !== '' || url.hash !== '')
    throw new Unusable(`its server \`${text.slice(0, 120)}\` has a query or a fragment`);
  const away = base !== null && url.origin !== new URL(base).origin;
  if (away && server === null)
    throw new Unusable(
      `its server is \`${url.origin}\`, not where the document is from; write \`server: ${url.href}\` if that is meant`,
    );
  return (away && server !== null ? new URL(server) : url).href.replace(/\/+$/, '');
}

/** The URL of a server with its variables at their defaults. */
function expanded(server: unknown): string {
  if (!isMembers(server) || typeof server['url'] !== 'string') throw new Unusable('its server has no URL');
  const variables: Members = isMembers(server['variables']) ? server['variables'] : {};
  return server['url'].replaceAll(/\{([^{}]*)\}/g, (_, name: string) => {
    const variable = Object.hasOwn(variables, name) ? variables[name] : undefined;
    const value = isMembers(variable) ? variable['default'] : undefined;
    if (typeof value !== 'string')
      throw new Unusable(`its server has the variable \`${name.slice(0, 80)}\` without a default`);
    return value;
  });
}

function isList(servers: unknown): servers is readonly unknown[] {
  return Array.isArray(servers) && servers.length > 0;
}
