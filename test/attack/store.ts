import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { CHECKED_COLUMNS } from '../../src/store/sqlite/checked-columns.ts';
import { CheckedAlterations, entriesOf, rowCheckOf } from '../support/checked-alterations.ts';
import { makeCheckedProject } from '../support/checked-project.ts';
import { CheckedStore } from '../support/checked-store.ts';
import { regrade } from '../support/tampered-cells.ts';
import { LEVELS, rewrite } from '../support/tampered-rewrite.ts';
import { dropTriggers, makeTamperedProject } from '../support/tampered-run.ts';
import { type Tamper, Tampering } from '../support/tampered-store.ts';
import { type AttackOptions, oneOf, randomFor, Tally } from './tally.ts';

const LEAST = 100;

/** Alters every column of a store, takes rows away, copies rows in and rewrites hashes; each is found, or decides nothing. */
export async function attackStore(options: AttackOptions): Promise<Tally> {
  const tally = new Tally();
  const folder = mkdtempSync(path.join(tmpdir(), 'proctor-attack-store-'));
  await alter(path.join(folder, 'checked'), tally, options);
  options.say('every column of every table; now rewrites');
  await forge(path.join(folder, 'rewritten'), tally);
  tally.atLeast(LEAST, 'alterations of a store');
  rmSync(folder, { recursive: true });
  return tally;
}

async function alter(folder: string, tally: Tally, { seed }: AttackOptions): Promise<void> {
  mkdirSync(folder);
  const project = await makeCheckedProject(folder);
  dropTriggers(project.store);
  const checked = new CheckedStore(project, path.join(folder, 'altered.db'));
  const alterations = new CheckedAlterations(project, checked, await checked.told(() => undefined));
  const random = randomFor(seed, 'store');
  const choose = <T>(list: readonly T[]) => (list.length === 0 ? undefined : oneOf(random, list));
  const attempt = async (kind: string, unmet: Promise<string | null>, name: string) =>
    tally.tried(kind, name, await unmet.catch((error: unknown) => String(error)));
  for (const [table, entry] of Object.entries(CHECKED_COLUMNS)) {
    for (const [column, check] of entriesOf(entry)) {
      const kind = check === 'nothing' ? 'cells that decide nothing: nothing is told differently' : 'cells altered';
      const alteration = choose(alterations.ofColumn(table, column, choose));
      if (alteration !== undefined)
        await attempt(kind, alterations.unmet(check, table, alteration.tamper), alteration.name);
    }
    const check = rowCheckOf(entry);
    const kind = check === 'nothing' ? 'rows on which nothing rests' : 'rows taken away or copied in';
    for (const { name, tamper } of alterations.ofRows(table, choose))
      await attempt(kind, alterations.unmet(check, table, tamper), name);
  }
}

/** A forger changes a grade and makes hashes anew: up to some level, leaving one level out, or all of them. */
async function forge(folder: string, tally: Tally): Promise<void> {
  mkdirSync(folder);
  const project = await makeTamperedProject(folder);
  dropTriggers(project.store);
  const tampering = new Tampering(project);
  const { completed } = project.runs;
  const flip: Tamper = (db) => regrade(db, completed, { status: 'passed', score: null });
  const rewrites = [
    ...LEVELS.slice(0, -1).map((level, index) => [`no further than ${level}`, LEVELS.slice(0, index + 1)] as const),
    ...LEVELS.filter((level) => level !== 'change' && level !== 'late').map(
      (level) => [`without ${level}`, LEVELS.filter((other) => other !== level)] as const,
    ),
  ];
  for (const [name, levels] of rewrites) {
    const { ok } = await tampering.verify(completed, (db) => rewrite(db, completed, flip, levels));
    tally.tried('rewrites with hashes made anew', name, ok ? 'verify finds nothing' : null);
  }
  const whole = await tampering.verify(completed, (db) => rewrite(db, completed, flip), completed.evidence_root);
  tally.tried('rewrites with hashes made anew', 'whole, with --expect', whole.ok ? 'verify finds nothing' : null);
}
