import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ToolSourceContext } from '../../contract/tool.ts';
import { digestBytes } from '../../lib/canonical-json.ts';
import { programFile } from '../../lib/program-file.ts';
import { readRegular } from '../../lib/regular-file.ts';
import { type HttpClient, openHttpClient } from '../transport/http-client.ts';
import { openModuleHost } from '../transport/module-host.ts';
import { unavailable } from './described.ts';
import type { CompiledDocument } from './openapi-binding.ts';
import type { OpenapiConfig } from './openapi-config.ts';
import type { CompileRequest } from './openapi-entry.ts';
import { documentUrl } from './openapi-http.ts';

const MOST_BYTES = 10 * 1024 * 1024;
const FETCH_MS = 30_000;
const COMPILE_MS = 30_000;
const HEAP_MB = 1_024;
const RESULT_BYTES = 32 * 1024 * 1024;
const REDIRECTS = 5;

/** Keeps the tools of a document up to date. */
export interface DocumentLoader {
  /** The tools of the document as it is now; it is compiled again only when it has changed. Throws `source_unavailable`. */
  load(signal: AbortSignal): Promise<CompiledDocument>;
  close(): Promise<void>;
}

/** Reads the document of a source from its file or URL and makes tools of it in a thread, within a time and a heap of its own. */
export function openDocument({
  name,
  config,
  base_dir,
  resolve,
  note,
}: ToolSourceContext<OpenapiConfig>): DocumentLoader {
  const url = documentUrl(config.document);
  const shown = url === null ? config.document : url.href;
  let client: HttpClient | null = null;
  let etag: string | null = null;
  let known: { readonly digest: string; readonly compiled: CompiledDocument } | null = null;

  const fetched = async (from: URL, signal: AbortSignal): Promise<Uint8Array | null> => {
    client ??= openHttpClient({
      authored_host: from.hostname,
      connections: 1,
      private_addresses: config.private_addresses,
      redirects: REDIRECTS,
    });
    const own = Object.entries(config.document_headers).map(
      ([key, text]) => [key.toLowerCase(), resolve(text)] as const,
    );
    const accept = 'application/json, application/yaml, */*;q=0.5';
    const since = etag === null || known === null ? {} : { 'if-none-match': etag };
    const outcome = await client.request({
      url: from,
      method: 'GET',
      headers: { accept, 'user-agent': 'proctor', ...since, ...Object.fromEntries(own) },
      body: null,
      timeout_ms: FETCH_MS,
      max_body_bytes: MOST_BYTES,
      signal,
    });
    if (outcome.type === 'error') throw unavailable(name, `has no document: \`${shown}\`: ${outcome.message}`);
    if (outcome.status === 304 && known !== null) return null;
    if (outcome.status !== 200)
      throw unavailable(name, `has no document: \`${shown}\` answers with status ${outcome.status}`);
    etag = outcome.headers['etag'] ?? null;
    return outcome.body;
  };

  const compiled = async (bytes: Uint8Array, signal: AbortSignal): Promise<CompiledDocument> => {
    const request: CompileRequest = {
      text: utf8(bytes) ?? refuse(name, shown, 'is not valid UTF-8'),
      where: { document: url === null ? null : url.href, server: config.server ?? null },
      supplied: {
        headers: Object.keys(config.headers).map((key) => key.toLowerCase()),
        query: Object.keys(config.query),
      },
      operations: config.operations ?? null,
      check_output: config.check_output,
    };
    // A document may be made to explode; then its thread ends, not the gateway. It is needed once a change, so it does not stay.
    const host = await openModuleHost({
      path: fileURLToPath(programFile(import.meta.url, './openapi-entry')),
      export_name: 'compile',
      shown_path: shown,
      max_heap_mb: HEAP_MB,
      max_result_bytes: RESULT_BYTES,
      output: note,
    });
    try {
      const outcome = await host.call(request, { signal, timeout_ms: COMPILE_MS });
      if (outcome.type === 'value') return outcome.value as CompiledDocument;
      if (outcome.type === 'error') return refuse(name, shown, outcome.message);
      if (outcome.type === 'timeout') return refuse(name, shown, `takes more than ${COMPILE_MS} ms to be read`);
      return refuse(
        name,
        shown,
        outcome.type === 'crashed' ? `cannot be read: ${outcome.message}` : 'was not read to its end',
      );
    } finally {
      await host.close();
    }
  };

  return {
    async load(signal) {
      const bytes =
        url === null ? await fileOf(name, path.resolve(base_dir, config.document), shown) : await fetched(url, signal);
      if (bytes === null && known !== null) return known.compiled;
      const content = bytes ?? new Uint8Array();
      const digest = digestBytes(content);
      if (known?.digest !== digest) known = { digest, compiled: await compiled(content, signal) };
      return known.compiled;
    },
    async close() {
      await client?.close();
    },
  };
}

function refuse(source: string, shown: string, why: string): never {
  throw unavailable(source, `has a document that cannot be used: \`${shown}\` ${why}`);
}

async function fileOf(source: string, file: string, shown: string): Promise<Uint8Array> {
  return await readRegular(file, MOST_BYTES).catch((error: Error) => {
    throw unavailable(source, `has no document: \`${shown}\` ${error.message}`, error);
  });
}

function utf8(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes); // a byte order mark goes with it
  } catch (error) {
    if (error instanceof TypeError) return null;
    throw error;
  }
}
