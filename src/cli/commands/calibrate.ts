import path from 'node:path';
import { loadProfile } from '../../adapters/profiles/load-profile.ts';
import { createPlugins } from '../../app.ts';
import { type Diagnostic, diagnostic, ProctorError } from '../../contract/problem.ts';
import type { EvaluatorReference, Profile } from '../../contract/profile.ts';
import { type Calibration, type CalibrationItem, calibrate as measure } from '../../engine/calibrate.ts';
import { readRegular } from '../../lib/regular-file.ts';
import { parseStrictJson } from '../../lib/strict-json.ts';
import type { Command } from '../context.ts';
import { counted, cut, number, percent, table, usd } from '../format.ts';
import { type Output, printable } from '../output.ts';

const MOST_FAILED = 0.1; // of the items
const MOST_SET_BYTES = 64 * 1024 * 1024;

interface CalibrateOptions {
  readonly profile: string;
  readonly set: string;
  readonly dimension?: string;
  readonly leastAlpha?: number;
}

/** `proctor calibrate PROFILE --set FILE`: how far the profile's judge agrees with what people gave; exit 1 below `--least-alpha`. */
export const calibrate: Command<CalibrateOptions> = async (context, options) => {
  const plugins = createPlugins(context);
  const { profile, base_dir } = await loadProfile(options.profile, context.cwd, (value) => plugins.checkNames(value));
  const reference = judgeOf(profile, options.dimension ?? null);
  const items = await readSet(path.resolve(context.cwd, options.set), options.set);
  const evaluator = await plugins.openEvaluator(reference, { base_dir, concurrency: 8 });
  try {
    const threshold = Number(reference.config['threshold'] ?? 0.7);
    const found = plugins.redaction.json(await measure(evaluator, items, threshold, reference.timeout_ms));
    context.output.result(
      { ref: reference.ref, dimension: reference.dimension, ...found },
      context.output.json ? '' : text(found, reference, context.output),
    );
    return options.leastAlpha === undefined ? 0 : gate(found, options.leastAlpha, context.output);
  } finally {
    await evaluator.close();
  }
};

/** Exit code of a judge that is gated: 1 below the least alpha, 5 where too little was graded to say. */
function gate({ items, failed, agreement }: Calibration, least: number, output: Output): number {
  const alpha = agreement.krippendorff_alpha;
  if (failed > MOST_FAILED * items) {
    output.note(`proctor: ${failed} of ${counted(items, 'item')} could not be graded: the rest says too little`);
    return 5;
  }
  if (alpha === null) {
    output.note(
      'proctor: alpha is not defined, because every grade is the same: calibrate with answers of different worth',
    );
    return 5;
  }
  if (alpha >= least) return 0;
  output.note(`proctor: alpha ${alpha.toFixed(3)} is below ${least}`);
  return 1;
}

function judgeOf({ case_groups }: Profile, dimension: string | null): EvaluatorReference {
  const all = case_groups.flatMap((group) => group.evaluators);
  const found = all.find((item) => (dimension === null ? item.ref.startsWith('judge@') : item.dimension === dimension));
  if (found) return found;
  throw new ProctorError(
    'usage',
    dimension === null
      ? 'the profile has no judge; `--dimension NAME` names another evaluator to calibrate'
      : `no evaluator of the profile scores dimension \`${dimension}\``,
  );
}

async function readSet(file: string, shown: string): Promise<CalibrationItem[]> {
  const bytes = await readRegular(file, MOST_SET_BYTES).catch((error: Error) => {
    throw new ProctorError('invalid_input', `\`${shown}\` ${error.message}`, { cause: error });
  });
  const body = bytes.toString('utf8');
  const problems: Diagnostic[] = [];
  const items = body.split('\n').flatMap((line, index) => {
    if (line.trim() === '') return [];
    const found = itemOf(line);
    if (typeof found !== 'string') return [found];
    problems.push(
      diagnostic(found, {
        file: shown,
        line: index + 1,
        hint: 'one JSON object a line: input, answer, score (0 to 1), and expected or context',
      }),
    );
    return [];
  });
  if (problems.length === 0 && items.length > 0) return items;
  throw new ProctorError('invalid_input', `\`${shown}\` is not a calibration set`, {
    diagnostics: problems.length > 0 ? problems.slice(0, 100) : [diagnostic('it holds no items', { file: shown })],
  });
}

function itemOf(line: string): CalibrationItem | string {
  const parsed = parseStrictJson(line);
  const [issue] = parsed.issues;
  if (parsed.type === 'invalid' || issue !== undefined) return issue?.message ?? 'it is not JSON';
  const { value } = parsed;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'it is not a JSON object';
  const { input = null, context = null, expected = null, answer, score } = value as Record<string, unknown>;
  if (answer === undefined || answer === null) return 'it has no `answer`';
  if (typeof score !== 'number' || !(score >= 0 && score <= 1)) return '`score` must be a number from 0 to 1';
  return { input, context, expected, answer, score };
}

function text(found: Calibration, reference: EvaluatorReference, output: Output): string {
  const { agreement, spent } = found;
  const signed = (value: number) => `${value < 0 ? '−' : '+'}${Math.abs(value).toFixed(3)}`;
  const interval = agreement.verdicts_interval;
  const rows: [string, string][] = [
    ['evaluator', `${reference.ref}, ${reference.dimension}`],
    ['items', `${number(found.graded)} graded, ${number(found.failed)} not`],
    [
      'alpha',
      `${agreement.krippendorff_alpha?.toFixed(3) ?? 'not defined'} (Krippendorff, interval; 1 agrees, 0 is chance)`,
    ],
    [
      'same verdict',
      agreement.verdicts === null
        ? 'not known'
        : `${percent(agreement.verdicts)}${interval === null ? '' : ` [${percent(interval[0])}, ${percent(interval[1])}] at 95 %`}`,
    ],
    ['mean error', agreement.mean_error?.toFixed(3) ?? 'not known'],
    [
      'bias',
      agreement.bias === null
        ? 'not known'
        : `${signed(agreement.bias)} ${agreement.bias > 0 ? '(kinder than people)' : agreement.bias < 0 ? '(harsher than people)' : ''}`,
    ],
    ['spent', `${usd(spent.cost_micro_usd)}, ${counted(spent.tokens, 'token')}`],
  ];
  const worst = found.worst.map((item) => [
    `  item ${item.item}`,
    `people ${item.people.toFixed(2)}, evaluator ${item.evaluator.toFixed(2)}`,
    cut(printable(item.reason ?? ''), 100),
  ]);
  const problems = found.problems.map((item) => [`  item ${item.item}`, cut(printable(item.reason ?? ''), 120)]);
  return [
    table(rows.map(([name, value]) => [`  ${output.style('dim', name)}`, value])),
    ...(worst.length > 0 ? ['', output.style('bold', '  furthest apart'), table(worst)] : []),
    ...(problems.length > 0 ? ['', output.style('bold', '  not graded'), table(problems)] : []),
  ].join('\n');
}
