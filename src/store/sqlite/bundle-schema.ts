import { migrationTexts, SCHEMA_VERSION } from './migrate.ts';

/** Marks a file as a bundle of format 1 (`PRCB`). */
export const BUNDLE_APPLICATION_ID = 0x50524342;

/**
 * The tables of a bundle: those of a store, without its triggers, and the bodies that a store has in its artifact folder. `version` is the
 * store's schema, the newest unless said: bundles that an older Proctor wrote stay readable.
 */
export function bundleSchema(version = SCHEMA_VERSION): string {
  return [
    ...migrationTexts().slice(0, version),
    `create table artifact (digest text primary key not null, body blob not null) strict, without rowid;
create table bundle (statement text not null, signature text, public_key text) strict;`,
  ].join('\n');
}
