import path from 'node:path';
import { buildPackage } from './build-package.ts';

/** `npm run build [-- FOLDER [PROGRAM …]]`: builds the package, with further programs where they are named, into a folder; `dist/` unless said. */
const [folder = path.resolve(import.meta.dirname, '..', 'dist'), ...programs] = process.argv.slice(2);
await buildPackage(folder, programs);
