import path from 'node:path';
import { buildPackage } from './build-package.ts';

/** Builds the package into `dist/`. */
await buildPackage(path.resolve(import.meta.dirname, '..', 'dist'));
