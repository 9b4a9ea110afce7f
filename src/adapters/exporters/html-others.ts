import type { ExecutionDocument } from '../../contract/documents.ts';
import { executionText } from '../../core/execution-sections.ts';
import { whyNotPassed } from '../../core/why-not-passed.ts';
import { escapeHtml as text } from './html-escape.ts';
import { number } from './html-sections.ts';

const MOST_CHARACTERS = 3_000; // of one case
const MOST_OF_ALL = 3_000_000; // of the page

/** The executions that are not under "Not passed": what is stored of each, folded, from the first on while the page has room. */
export class Others {
  readonly #repeats: number;
  readonly #parts: string[] = [];
  #left = MOST_OF_ALL;
  #full = false;
  #last = '';
  #total = 0;
  #passed = 0;

  constructor(repeats: number) {
    this.#repeats = repeats;
  }

  add(execution: ExecutionDocument, at: number): void {
    this.#total += 1;
    if (execution.aggregate?.passed === true) this.#passed += 1;
    if (this.#full) return;
    const name = this.#repeats > 1 ? `${execution.case_id} #${execution.repeat}` : execution.case_id;
    const part = folded(execution, name, at);
    this.#full = part.length > this.#left;
    if (this.#full) return;
    this.#left -= part.length;
    this.#last = name;
    this.#parts.push(part);
  }

  *section(): Generator<string> {
    if (this.#total === 0) return;
    const shown = this.#parts.length;
    const title = this.#passed === this.#total ? 'Passed' : 'Other executions';
    const cut =
      shown === this.#total
        ? ''
        : `<p class="dim">The page would be too large with all: the first ${number(shown)} are here, up to <code>${text(this.#last)}</code>. <code>proctor show RUN --case ID</code> shows the other ${number(this.#total - shown)}, and the jsonl export has every one whole.</p>`;
    yield `<section><h2>${title} <span class="count">${number(this.#total)}</span></h2>${cut}
<details class="rest"><summary>show ${shown === 1 ? 'it' : number(shown)}</summary>\n`;
    for (const part of this.#parts) yield part;
    yield '</details></section>\n';
  }
}

function folded(execution: ExecutionDocument, name: string, at: number): string {
  const { aggregate, status, execution_id } = execution;
  const passed = aggregate?.passed === true;
  const score = aggregate === null ? '–' : aggregate.score.toFixed(3);
  const why = passed ? 'passed' : whyNotPassed(execution).slice(0, 300);
  return `<details id="x${at}"><summary><span class="name">${text(name)}</span><span class="score">${score}</span><span class="why">${text(why)}</span></summary>
<p class="dim">${text(status)} · <code>${text(execution_id)}</code></p><pre>${text(executionText(execution, MOST_CHARACTERS))}</pre></details>\n`;
}
