import path from 'node:path';
import { isBundleFile, verifyBundleFile } from '../../app.ts';
import { ProctorError } from '../../contract/problem.ts';
import type { BundleVerification } from '../../engine/bundle.ts';
import { findRun } from '../../engine/run.ts';
import { type Verification, verifyRun } from '../../engine/verify/verify-run.ts';
import type { Command, CommandContext } from '../context.ts';
import { counted, number } from '../format.ts';
import { readKey } from '../key-file.ts';
import { type Output, printable } from '../output.ts';

interface VerifyOptions {
  readonly run: string;
  readonly expect?: string;
  readonly key?: string;
}

/** `proctor verify RUN|BUNDLE`: recompute everything from the evidence; exit 1 when it differs anywhere. */
export const verify: Command<VerifyOptions> = async (context, options) => {
  const file = path.resolve(context.cwd, options.run);
  if (await isBundleFile(file)) return await verifyFile(context, file, options);
  if (options.key !== undefined)
    throw new ProctorError('usage', `--key is for a signed bundle, and \`${options.run}\` is not a bundle`);
  await using app = await context.openApp({ existing: true });
  const run = await findRun(app.store, options.run).catch((error: unknown) => {
    if (!ProctorError.is(error) || error.code !== 'not_found' || !/[./]/.test(options.run)) throw error;
    throw new ProctorError(
      'not_found',
      `\`${options.run}\` is not a bundle, and no run in \`${app.places.store}\` has that name`,
    );
  });
  const found = await verifyRun(app, run, options.expect ?? null);
  context.output.result(found, text(found, context.output));
  return found.ok ? 0 : 1;
};

async function verifyFile({ cwd, output }: CommandContext, file: string, options: VerifyOptions): Promise<number> {
  const key = options.key === undefined ? null : await readKey(path.resolve(cwd, options.key));
  const found = await verifyBundleFile(file, options.expect ?? null, key);
  output.result(found, output.json ? '' : `${text(found, output)}\n  ${signatureText(found)}${formatText(found)}`);
  return found.ok ? 0 : 1;
}

function signatureText({ signature, key_fingerprint }: BundleVerification): string {
  if (signature === 'none') return 'signature     none: compare the root with one noted elsewhere (--expect ROOT)';
  const whose =
    signature === 'known' ? 'by the key given' : 'by a key that only the bundle names (--key FILE checks whose)';
  return `signature     ${whose}, SHA-256 ${key_fingerprint}`;
}

/** What the file itself leaves open. */
function formatText({ format }: BundleVerification): string {
  return format === 1
    ? '\n  format 1      spare bytes are not covered: the file may hold more than the run; `export` of today covers every byte'
    : '';
}

const MOST_SHOWN = 50;

/** The findings for people. */
export function text(found: Verification, output: Output): string {
  const { checked } = found;
  const what = [
    counted(checked.executions, 'execution'),
    counted(checked.attempts, 'attempt'),
    counted(checked.evidence, 'piece of evidence', 'pieces of evidence'),
    ...(checked.tool_runs > 0 ? [counted(checked.tool_runs, 'tool run')] : []),
    counted(checked.events, 'event'),
  ].join(', ');
  const left =
    found.not_recomputable > 0
      ? `\n  not_recomputable: ${counted(found.not_recomputable, 'execution')} (${leftOutText(found.left_out)})`
      : '';
  const revised =
    found.revision > 0
      ? `\n  ${counted(found.revision, 'correction')} by hand: the verdict that counts is that of revision ${found.revision}\n  revision root ${found.revision_root ?? 'none'}`
      : '';
  const older = found.method === 1 ? '\n  computed by method 1, which older versions of Proctor used' : '';
  const root =
    found.evidence_root === null
      ? `\n  the run is ${found.status}: there is no verdict to check yet`
      : `\n  evidence root ${found.evidence_root}`;
  if (found.ok && found.evidence_root === null)
    return `${output.style('bold', output.style('yellow', ' NO VERDICT YET '))} ${what}: every hash recomputes so far${root}${left}`;
  if (found.ok)
    return `${output.style('bold', output.style('green', ' VERIFIED '))} ${what}: every hash, score and the verdict recompute${root}${older}${left}${revised}${expectedText(found, output)}`;
  const lines = found.found.slice(0, MOST_SHOWN).map((item) => {
    const values =
      item.expected === null && item.found === null
        ? ''
        : output.style(
            'dim',
            `\n      expected ${printable(item.expected ?? 'nothing')}\n      found    ${printable(item.found ?? 'nothing')}`,
          );
    return `  ${output.style('red', '✗')} ${item.where}  ${printable(item.row)}: ${printable(item.what)}${values}`;
  });
  const more = found.differences > lines.length ? `\n  … ${number(found.differences - lines.length)} more` : '';
  return `${output.style('bold', output.style('red', ' DIFFERS '))} ${found.stopped ? 'at least ' : ''}${counted(found.differences, 'place')} (${what})\n${lines.join('\n')}${more}${root}${left}${revised}${expectedText(found, output)}`;
}

/** What the root given with `--expect` proves, and what it does not. */
function expectedText({ expected, run_id, revision_root }: Verification, output: Output): string {
  if (expected === null) return '';
  const { revision, later_revisions } = expected;
  const proved =
    revision === 0
      ? 'the run and its own verdict'
      : `the run, its corrections up to revision ${revision}, and that verdict`;
  const later =
    later_revisions === 0
      ? ''
      : `\n  ${output.style('yellow', 'not covered by it')}: ${counted(later_revisions, 'later revision')}; compare with the root noted for the last: proctor verify ${run_id} --expect ${revision_root ?? ''}`;
  return `\n  the root expected proves ${proved}${later}`;
}

function leftOutText({ output, evaluator_evidence, secrets }: Verification['left_out']): string {
  const parts = [
    [output, 'without the answer, which persistence left out'],
    [evaluator_evidence, 'without the evidence of evaluators, which persistence left out'],
    [secrets, 'with secrets taken out'],
  ] as const;
  return parts.flatMap(([count, what]) => (count > 0 ? [`${number(count)} ${what}`] : [])).join(', ');
}
