import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { rolldown } from 'rolldown';

const ROOT = path.resolve(import.meta.dirname, '..');
const SQL_PARSER = 'node_modules/@guanmingchiu/sqlparser-ts/wasm';
const SQL_FILES = ['sqlparser_rs_wasm.js', 'sqlparser_rs_wasm_bg.wasm'];

/** The SQL parser looks for its code in a folder of its package; in ours it stands beside the file that loads it. */
const besideItself = {
  name: 'beside-itself',
  transform(code: string, id: string) {
    if (!id.includes('/sqlparser-ts/')) return null;
    return { code: code.replaceAll('"../wasm/', '"./'), map: null };
  },
};

/**
 * Builds the package into a folder: every program (the command line, the thread of a user's module, the demo's agent) with the
 * libraries it uses, as a few files that start in a third of the time of two hundred modules; the store's migrations; and the
 * licences of the libraries inside. Answers the file to start. `programs` are built beside the package's own.
 */
export async function buildPackage(folder: string, programs: readonly string[] = []): Promise<string> {
  rmSync(folder, { recursive: true, force: true });
  await using bundle = await rolldown({
    cwd: ROOT,
    platform: 'node',
    input: [
      'src/cli/main.ts',
      'src/adapters/transport/module-worker.ts',
      'src/adapters/tools/module-entry.ts',
      'src/adapters/tools/schema-entry.ts',
      'src/adapters/tools/openapi-entry.ts',
      'src/cli/demo/agent.ts',
      ...programs,
    ],
    plugins: [besideItself],
    onLog(level, log) {
      if (level === 'warn') throw new Error(`the bundle is not sound: ${log.message}`);
    },
  });
  // One folder: code that looks for a program or a migration looks beside itself.
  const { output } = await bundle.write({
    dir: folder,
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: '[name]-[hash].js',
    comments: { legal: true, jsdoc: false },
  });
  cpSync(path.join(ROOT, 'src/store/sqlite/migrations'), path.join(folder, 'migrations'), { recursive: true });
  for (const file of SQL_FILES) cpSync(path.join(ROOT, SQL_PARSER, file), path.join(folder, file));
  const modules = output.flatMap((part) => (part.type === 'chunk' ? Object.keys(part.modules) : []));
  writeFileSync(path.join(folder, 'THIRD-PARTY-LICENSES'), licences(modules));
  writeFileSync(path.join(folder, 'package.json'), '{"type":"module"}\n');
  return path.join(folder, 'main.js');
}

/** The name, version and licence text of every library that one of the modules comes from. */
function licences(modules: readonly string[]): string {
  const folders = new Set(modules.flatMap((file) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? []));
  return [...folders]
    .sort()
    .map((folder) => {
      const { name, version, license } = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8')) as Record<
        string,
        string
      >;
      const file = readdirSync(folder, { recursive: true, encoding: 'utf8' }).find((entry) =>
        /^(wasm\/)?licen[cs]e/i.test(entry),
      );
      const text = file === undefined ? `Licence: ${license}` : readFileSync(path.join(folder, file), 'utf8').trim();
      return `${name} ${version}\n\n${text}\n`;
    })
    .join(`\n${'-'.repeat(80)}\n\n`);
}
