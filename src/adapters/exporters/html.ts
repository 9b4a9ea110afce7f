import { hash } from 'node:crypto';
import type { ExecutionDocument, RunDocument } from '../../contract/documents.ts';
import type { Exporter } from '../../contract/exporter.ts';
import { correctionText } from '../../core/correction-text.ts';
import { escapeHtml as text } from './html-escape.ts';
import { type Failing, failingOf, failingSection } from './html-failing.ts';
import { Others } from './html-others.ts';
import { SCRIPT, STYLE } from './html-page.ts';
import { baselineSection, factsSection, gateSection, headSection, histogramSection } from './html-sections.ts';

const BINS = 20;
const MOST_FAILING = 400;
const MOST_LISTED = 50_000;
const MOST_LISTED_CHARACTERS = 1_000_000;

/**
 * One self-contained page: verdict, gate with intervals, score histogram, the cases that did not pass with reasons and evidence, the
 * other ones with what is stored of them, and every execution in a list that filters as one types. No network, no other file; it reads
 * without its script too.
 */
export const html: Exporter = {
  format: 'html',
  summary: 'one self-contained page for people',
  extension: 'html',
  async *write({ run, executions }) {
    const found = await collect(executions(), run.repeats);
    yield head(run);
    yield headSection(run);
    yield factsSection(run);
    yield gateSection(run);
    yield baselineSection(run);
    yield histogramSection(found.bins, found.unscored);
    yield failingSection(found.failing, found.not_passed, run.repeats);
    yield correctedSection(found.corrected);
    yield* found.others.section();
    yield* listSection(found.rows, found.total);
    yield `<footer><p>run <code>${text(run.run_id)}</code>${evidence(run)}</p></footer>\n</main>\n<script>${SCRIPT}</script>\n</body>\n</html>\n`;
  },
};

/** `[case_id, repeat, mark, score]`; marks: p passed, f not passed, e infrastructure, configuration or grader, c cancelled. */
type ListRow = readonly [string, number, 'p' | 'f' | 'e' | 'c', number | null];

interface Found {
  readonly bins: number[];
  readonly failing: Failing[];
  readonly others: Others;
  readonly corrected: string[];
  readonly rows: ListRow[];
  listed: number;
  unscored: number;
  not_passed: number;
  total: number;
}

async function collect(executions: AsyncIterable<ExecutionDocument>, repeats: number): Promise<Found> {
  const found: Found = {
    bins: Array(BINS).fill(0),
    failing: [],
    others: new Others(repeats),
    corrected: [],
    rows: [],
    listed: 0,
    unscored: 0,
    not_passed: 0,
    total: 0,
  };
  for await (const execution of executions) {
    const at = found.total++;
    const corrected = correctionText(execution);
    if (corrected !== null && found.corrected.length < MOST_FAILING)
      found.corrected.push(`${execution.case_id} #${execution.repeat}: ${corrected.slice(0, 400)}`);
    const { aggregate, case_id, repeat } = execution;
    const score = aggregate?.score ?? null;
    if (score === null) found.unscored += 1;
    else found.bins[Math.min(BINS - 1, Math.floor(score * BINS))]! += 1;
    const failing = aggregate?.passed !== true && execution.status !== 'cancelled';
    if (failing) found.not_passed += 1;
    if (failing && found.failing.length < MOST_FAILING) found.failing.push(failingOf(execution, at));
    else found.others.add(execution, at);
    found.listed += case_id.length + 24; // what a row takes in the page, about
    if (found.rows.length < MOST_LISTED && found.listed < MOST_LISTED_CHARACTERS)
      found.rows.push([case_id, repeat, markOf(execution), score === null ? null : Math.round(score * 1e4) / 1e4]);
  }
  return found;
}

function correctedSection(corrected: readonly string[]): string {
  if (corrected.length === 0) return '';
  return `<section><h2>Corrected by hand</h2><ul>${corrected.map((line) => `<li>${text(line)}</li>`).join('')}</ul></section>\n`;
}

function markOf({ aggregate, fault }: ExecutionDocument): ListRow[2] {
  if (aggregate?.passed) return 'p';
  if (fault === 'cancelled') return 'c';
  return fault === 'infrastructure' || fault === 'configuration' || fault === 'grader' ? 'e' : 'f';
}

function head(run: RunDocument): string {
  const title = `${run.gate_status === 'unknown' ? run.status : run.gate_status} · ${run.agent.name} ${run.agent.version} · ${run.profile.profile_id}`;
  // Nothing may be loaded, and only this very script and style may run: what an agent said is shown, not executed.
  const policy = `default-src 'none'; style-src '${source(STYLE)}'; script-src '${source(SCRIPT)}'; base-uri 'none'; form-action 'none'`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="content-security-policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${text(title)}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
`;
}

function source(inline: string): string {
  return `sha256-${hash('sha256', inline, 'base64')}`;
}

function* listSection(rows: readonly ListRow[], total: number): Generator<string> {
  const left = total > rows.length ? `<p class="dim">The first ${rows.length} of ${total} are listed.</p>` : '';
  yield `<section id="all" hidden><h2>All executions</h2>
<p><label>Find <input id="find" type="search" placeholder="case id" autocomplete="off"></label>
<label>Show <select id="show"><option value="">all</option><option value="f">not passed</option><option value="p">passed</option><option value="e">infrastructure, configuration or grader</option><option value="c">cancelled</option></select></label>
<output id="count" for="find show"></output></p>
<ol id="list"></ol><p><button id="more" type="button">Show more</button></p>${left}
<script type="application/json" id="rows">[`;
  for (let from = 0; from < rows.length; from += 1_000) {
    const part = rows.slice(from, from + 1_000).map((row) => JSON.stringify(row).replaceAll('<', '\\u003c'));
    yield `${from === 0 ? '' : ','}${part.join(',')}`;
  }
  yield ']</script></section>\n';
}

function evidence(run: RunDocument): string {
  if (run.evidence_root === null) return '';
  const { revision } = run;
  const revised =
    revision === null || revision.number === 0
      ? ''
      : ` · root of revision ${revision.number} <code>${text(revision.revision_root)}</code>`;
  const root = text(revision?.revision_root ?? run.evidence_root);
  return ` · evidence root <code>${run.evidence_root}</code>${revised} · check with <code>proctor verify ${text(run.run_id)} --expect ${root}</code>`;
}
