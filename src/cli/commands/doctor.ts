import { existsSync } from 'node:fs';
import { access, constants, stat, statfs } from 'node:fs/promises';
import path from 'node:path';
import { findPlaces } from '../../config.ts';
import { ProctorError } from '../../contract/problem.ts';
import type { ClockReport } from '../../contract/store.ts';
import { instant } from '../../core/instant.ts';
import { onlyFileAt } from '../../lib/regular-file.ts';
import type { Command } from '../context.ts';
import { duration, number } from '../format.ts';
import { printable } from '../output.ts';

interface Finding {
  readonly check: string;
  readonly ok: boolean;
  /** Something cannot be done here that may not be wanted here. */
  readonly warning: boolean;
  readonly detail: string;
}

const ENOUGH_BYTES = 100 * 1024 * 1024;

/** `proctor doctor`: what would keep Proctor from working here, and with `--verify` whether the store's invariants hold. */
export const doctor: Command<{ readonly verify?: boolean; readonly backup?: string }> = async (context, options) => {
  const { output } = context;
  const places = findPlaces(context.cwd, context.environment);
  const findings: Told[] = [nodeVersion()];
  const folders = [...new Set([path.dirname(places.store), places.artifacts].map(nearestFolder))];
  findings.push(...(await disks(folders, existsSync(places.store))));
  if (findings.some(({ ok }) => !ok)) {
    findings.push({ check: 'store', ok: false, detail: `\`${places.store}\` is not opened before that is put right` });
  } else if (!existsSync(places.store) && !options.verify && options.backup === undefined) {
    findings.push({ check: 'store', ok: true, detail: `\`${places.store}\` is not there yet; the first run makes it` });
  } else {
    await using app = await context.openApp({ existing: true });
    const { size } = await stat(places.store);
    const only = app.read_only ? ', which can only be read here' : '';
    findings.push({
      check: 'store',
      ok: true,
      warning: app.read_only,
      detail: `\`${places.store}\`, ${number(Math.ceil(size / 1024))} KiB${only}`,
    });
    const wrong = app.store.triggerProblems();
    findings.push({
      check: 'triggers',
      ok: wrong.length === 0,
      detail: wrong.length === 0 ? 'every trigger is in place' : `${wrong.join(', ')}; restore a backup`,
    });
    findings.push(clockFinding(() => app.store.clockReport()));
    const live = await app.store.liveSessions(app.clock.now() - 60_000);
    findings.push({
      check: 'workers',
      ok: true,
      detail:
        live.length === 0
          ? 'none at work'
          : live
              .map(
                ({ role, worker, host, pid }) => `${role === 'gateway' ? 'a gateway' : worker} on ${host} (pid ${pid})`,
              )
              .join(', '),
    });
    if (options.verify) {
      const violations = await app.store.invariants();
      findings.push({
        check: 'invariants',
        ok: violations.length === 0,
        detail:
          violations.length === 0
            ? 'all hold'
            : violations.map((item) => `${item.invariant}: ${item.count} (${item.example})`).join('; '),
      });
    }
    if (options.backup !== undefined) {
      const target = path.resolve(context.cwd, options.backup);
      await onlyFileAt(target).catch((error: Error) => {
        throw new ProctorError('invalid_input', `\`${options.backup}\` ${error.message}; name a file to write`, {
          cause: error,
        });
      });
      await app.store.backup(target);
      findings.push({ check: 'backup', ok: true, detail: `written to \`${options.backup}\`` });
    }
  }
  const ok = findings.every((finding) => finding.ok);
  const document: Finding[] = findings.map(({ warning = false, ...finding }) => ({ ...finding, warning }));
  const mark = (finding: Finding) => {
    if (!finding.ok) return output.style('red', '✗');
    return finding.warning ? output.style('yellow', '!') : output.style('green', '✓');
  };
  output.result(
    { ok, findings: document },
    document.map((finding) => `${mark(finding)} ${finding.check.padEnd(10)} ${printable(finding.detail)}`).join('\n'),
  );
  return ok ? 0 : 1;
};

/** A finding that warns of nothing unless it says so. */
type Told = Omit<Finding, 'warning'> & { readonly warning?: boolean };

const BEHIND_MS = 1_000; // what a clock that is kept in time may be set back by

/** Leases, retries and limits go by time that passes, so a clock that was set holds nothing up; but what is recorded carries its instants. */
function clockFinding(report: () => ClockReport): Told {
  try {
    return clockTold(report());
  } catch (error) {
    if (ProctorError.is(error) && error.code === 'store_altered')
      return { check: 'clock', ok: false, detail: error.message };
    throw error;
  }
}

function clockTold({ behind_ms, last_now, jump }: ClockReport): Told {
  const behind =
    behind_ms > BEHIND_MS
      ? [
          `this machine's clock is ${duration(behind_ms)} behind the last instant that was recorded (${instant(last_now)}): until it gets there, new records carry that instant; set the clock if it is wrong`,
        ]
      : [];
  const jumped =
    jump === null
      ? []
      : [
          `it was set ${jump.by_ms < 0 ? 'back' : 'forward'} by ${duration(Math.abs(jump.by_ms))} (seen at ${instant(jump.at)})`,
        ];
  const told = [...behind, ...jumped];
  return { check: 'clock', ok: behind.length === 0, detail: told.length === 0 ? 'no jump seen' : told.join('; ') };
}

function nodeVersion(): Told {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const ok = major > 24 || (major === 24 && minor >= 15);
  return {
    check: 'node',
    ok,
    detail: ok ? process.versions.node : `${process.versions.node} is too old; Proctor needs 24.15 or newer`,
  };
}

/** The folder, or the nearest one above it that is there: where the first run will make the rest. */
function nearestFolder(folder: string): string {
  return existsSync(folder) ? folder : nearestFolder(path.dirname(folder));
}

/** What can be done in the folders; those that can only be read are told together. */
async function disks(folders: readonly string[], store: boolean): Promise<Told[]> {
  const findings: Told[] = [];
  const closed: string[] = [];
  for (const folder of folders) {
    if (!(await may(folder, constants.R_OK | constants.X_OK)))
      findings.push({
        check: 'disk',
        ok: false,
        detail: `\`${folder}\` cannot be read by this user; give the user the right to`,
      });
    else if (await may(folder, constants.W_OK)) findings.push(await room(folder));
    else closed.push(`\`${folder}\``);
  }
  if (closed.length === 0) return findings;
  const need =
    'new runs need folders that this user may write: change the rights, or let PROCTOR_DB and PROCTOR_ARTIFACTS name others';
  const still = store ? 'the runs there can be shown, verified, compared and exported; ' : '';
  const detail = `${closed.join(' and ')} cannot be written: ${still}${need}`;
  return [...findings, { check: 'disk', ok: store, warning: store, detail }];
}

async function may(folder: string, how: number): Promise<boolean> {
  return await access(folder, how).then(
    () => true,
    () => false,
  );
}

async function room(folder: string): Promise<Told> {
  const { bavail, bsize } = await statfs(folder);
  const free = bavail * bsize;
  return {
    check: 'disk',
    ok: free > ENOUGH_BYTES,
    detail: `${number(Math.floor(free / 1024 / 1024))} MiB free in \`${folder}\``,
  };
}
