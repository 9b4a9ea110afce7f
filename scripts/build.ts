import { spawnSync } from 'node:child_process';
import { cpSync, rmSync } from 'node:fs';
import path from 'node:path';

/** Builds the package: compiled JavaScript with the SQL beside it. */
const root = path.resolve(import.meta.dirname, '..');
rmSync(path.join(root, 'dist'), { recursive: true, force: true });
const { status } = spawnSync(path.join(root, 'node_modules/.bin/tsc'), ['-p', path.join(root, 'tsconfig.build.json')], {
  stdio: 'inherit',
});
if (status !== 0) process.exit(status ?? 1);
cpSync(path.join(root, 'src/store/sqlite/migrations'), path.join(root, 'dist/store/sqlite/migrations'), {
  recursive: true,
});
