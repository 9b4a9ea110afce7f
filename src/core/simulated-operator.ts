import type { SimulatedOperatorSettings } from '../contract/gateway-profile.ts';
import { canonicalJson, digestText } from '../lib/canonical-json.ts';
import { globMatches } from '../lib/glob.ts';

/** The answer of a simulated operator to one call; null: nobody answers. */
export interface SimulatedAnswer {
  readonly approve: boolean;
  readonly delay_ms: number;
  readonly comment: string | null;
}

/**
 * A simulated operator for one execution. What it answers depends on the seed, the execution and the number of the call alone, so that the
 * same calls get the same answers in every attempt and on every machine.
 */
export function simulatedOperator(
  settings: SimulatedOperatorSettings,
  execution: { readonly seed: number; readonly ordinal: number },
): { answer(tool: string, input: Readonly<Record<string, unknown>>): SimulatedAnswer | null } {
  const used = settings.script.map(() => 0);
  let asked = 0;
  return {
    answer(tool, input) {
      asked += 1;
      const found = settings.script.findIndex((entry, index) => {
        if (!entry.tools.some((glob) => globMatches(glob, tool))) return false;
        if (!hasArguments(input, entry.arguments ?? {})) return false;
        if (entry.times !== undefined && (used[index] ?? 0) >= entry.times) return false;
        return entry.share >= 1 || draw([execution.seed, execution.ordinal, asked, index]) < entry.share;
      });
      const entry = settings.script[found];
      if (entry !== undefined) used[found] = (used[found] ?? 0) + 1;
      const answer = entry?.answer ?? settings.default;
      if (answer === 'ignore') return null;
      return {
        approve: answer === 'approve',
        delay_ms: entry?.delay_ms ?? settings.delay_ms,
        comment: entry?.comment ?? settings.comment,
      };
    },
  };
}

function hasArguments(input: Readonly<Record<string, unknown>>, wanted: Readonly<Record<string, unknown>>): boolean {
  return Object.entries(wanted).every(
    ([name, value]) => Object.hasOwn(input, name) && canonicalJson(input[name]) === canonicalJson(value),
  );
}

/** A number from 0 to 1 by a hash. */
function draw(of: readonly number[]): number {
  return Number.parseInt(digestText('proctor/simulated_operator/1', JSON.stringify(of)).slice(0, 12), 16) / 2 ** 48;
}
