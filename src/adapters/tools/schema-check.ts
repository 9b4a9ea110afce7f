import { fileURLToPath } from 'node:url';
import type { SchemaCheck } from '../../contract/tool.ts';
import { Lru } from '../../lib/lru.ts';
import { programFile } from '../../lib/program-file.ts';
import { type SchemaValidator, schemaValidator } from '../evaluators/parts/schema-validator.ts';
import { type ModuleHost, openModuleHost } from '../transport/module-host.ts';

const BUDGET_MS = 250; // for one check; ordinary ones take microseconds
const HEAP_MB = 256;
const NEAR_CHARACTERS = 16 * 1024;
const NEAR_SCHEMAS = 500;
const EFFORTS = 3; // a check that another's endless schema took along is made again

type Answer =
  | { readonly type: 'unknown' }
  | { readonly type: 'refused'; readonly message: string }
  | { readonly type: 'checked'; readonly faults: readonly { readonly path: string; readonly message: string }[] };

/**
 * Checks values by JSON Schemas off the event loop, each within a time budget: a schema that explodes costs its thread, not the gateway.
 * Schemas of the operator's own and of others have a thread each, so that the latter cannot hold up the former. A small value by one of the
 * operator's own schemas, whose cost is bounded when it is compiled, is checked at once: the way to a thread and back takes longer.
 */
export function openSchemaCheck(): SchemaCheck & AsyncDisposable {
  const hosts = new Map<boolean, Promise<ModuleHost>>();
  const host = (own: boolean) => {
    let opened = hosts.get(own);
    if (opened === undefined) {
      const path = fileURLToPath(programFile(import.meta.url, './schema-entry'));
      opened = openModuleHost({ path, export_name: 'check', max_heap_mb: HEAP_MB });
      hosts.set(own, opened);
    }
    return opened;
  };
  const never = new AbortController().signal;
  const ask = async (own: boolean, request: Readonly<Record<string, unknown>>): Promise<Answer> => {
    let overdue = 0;
    for (let effort = 1; ; effort += 1) {
      const outcome = await (await host(own)).call(request, { signal: never, timeout_ms: BUDGET_MS });
      if (outcome.type === 'value') return outcome.value as Answer;
      if (outcome.type === 'error') return { type: 'refused', message: outcome.message };
      // The budget is time by the clock: on a busy machine an ordinary check may miss it, but hardly twice.
      if (outcome.type === 'timeout' && ++overdue === 2)
        return { type: 'refused', message: `it was not decided within ${BUDGET_MS} ms` };
      if (effort === EFFORTS) return { type: 'refused', message: 'the thread that checks was lost' };
    }
  };
  const near = new Lru<string, Promise<SchemaValidator>>(NEAR_SCHEMAS);
  return {
    async faults(key, schema, value, own) {
      if (own && JSON.stringify(value).length <= NEAR_CHARACTERS) {
        const validator = near.get(key, () => schemaValidator(schema, { unknown_keywords: 'ignore' }));
        return await checkedHere(validator, value);
      }
      let answer = await ask(own, { key, schema: null, value });
      if (answer.type === 'unknown') answer = await ask(own, { key, schema, value });
      if (answer.type === 'checked') return { type: 'checked', faults: answer.faults.map(sentence) };
      return {
        type: 'refused',
        message: answer.type === 'refused' ? answer.message : 'the thread that checks was lost',
      };
    },
    async [Symbol.asyncDispose]() {
      for (const opened of hosts.values()) await (await opened).close();
    },
  };
}

async function checkedHere(opening: Promise<SchemaValidator>, value: unknown): ReturnType<SchemaCheck['faults']> {
  try {
    const faults = (await opening).faults(value, false);
    return { type: 'checked', faults: faults.slice(0, 5).map(sentence) };
  } catch (error) {
    return { type: 'refused', message: error instanceof Error ? error.message : String(error) };
  }
}

function sentence({ path, message }: { readonly path: string; readonly message: string }): string {
  return `\`${path === '' ? '/' : path}\` ${message}`;
}
