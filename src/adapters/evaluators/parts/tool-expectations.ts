import { z } from 'zod';
import type { ToolCall } from '../../../contract/agent.ts';
import { globMatches } from '../../../lib/glob.ts';
import { jsonAlike } from './json-alike.ts';
import { shown } from './shown.ts';

const name = z.string().min(1).max(512);
const times = z.number().int().nonnegative();

/** A call that is expected: a tool's name, or its name with arguments and how often. */
export const expectedCallSchema = z.union([
  name,
  z
    .strictObject({
      name: name.describe("The tool's name"),
      arguments: z.record(z.string(), z.json()).optional().describe('Arguments that the call must have'),
      status: z
        .enum(['ok', 'error', 'timeout', 'denied'])
        .optional()
        .describe('How the call must have ended, as the gateway recorded it; calls that are only told of have no end'),
      times: times.optional().describe('Exactly so many such calls'),
      min: times.optional().describe('At least so many such calls; default 1, or 0 when `max` is given as 0'),
      max: times.optional().describe('At most so many such calls'),
    })
    .refine((call) => call.times === undefined || (call.min === undefined && call.max === undefined), {
      error: 'give `times`, or `min` and `max`, not both',
    })
    .refine((call) => call.min === undefined || call.max === undefined || call.min <= call.max, {
      error: '`min` is greater than `max`',
    }),
]);
export type ExpectedCall = z.output<typeof expectedCallSchema>;

/** The expectations of an evaluator or of a case; null where none is set. */
export interface ToolExpectations {
  readonly called: readonly ExpectedCall[];
  readonly notCalled: readonly string[];
  readonly order: readonly string[] | null;
  readonly exactOrder: readonly string[] | null;
  readonly argumentsMatch: 'subset' | 'exact';
}

/** One expectation in words, whether it is met, and how many calls it saw. */
export interface CheckedExpectation {
  readonly expectation: string;
  readonly met: boolean;
  readonly seen: string;
}

/** Checks every expectation against calls in the order made; `counted` are those that may satisfy one, forbidden ones are sought in `all`. */
export function checkExpectations(
  expectations: ToolExpectations,
  calls: { readonly counted: readonly ToolCall[]; readonly all: readonly ToolCall[] },
): CheckedExpectation[] {
  const names = calls.counted.map((call) => call.name);
  const checked = expectations.called.map((expected) =>
    checkCalled(expected, calls.counted, expectations.argumentsMatch),
  );
  for (const glob of expectations.notCalled) {
    const seen = calls.all.filter((call) => globMatches(glob, call.name)).length;
    checked.push({ expectation: `${shown(glob)} is not called`, met: seen === 0, seen: `${seen} calls` });
  }
  if (expectations.order !== null) checked.push(checkOrder(expectations.order, names));
  if (expectations.exactOrder !== null) checked.push(checkExactOrder(expectations.exactOrder, names));
  return checked;
}

function checkCalled(
  expected: ExpectedCall,
  calls: readonly ToolCall[],
  argumentsMatch: 'subset' | 'exact',
): CheckedExpectation {
  const {
    name,
    arguments: wanted,
    status,
    times,
    min,
    max,
  } = typeof expected === 'string' ? { name: expected } : expected;
  const least = times ?? min ?? (max === 0 ? 0 : 1);
  const most = times ?? max ?? Number.POSITIVE_INFINITY;
  const likeness = { subset: argumentsMatch === 'subset' };
  const named = calls.filter((call) => call.name === name);
  const seen = named.filter(
    (call) =>
      (wanted === undefined || jsonAlike(call.arguments, wanted, likeness)) &&
      (status === undefined || call.status === status),
  ).length;
  const withArguments =
    wanted === undefined ? '' : ` with ${argumentsMatch === 'exact' ? 'exactly ' : ''}${shown(wanted)}`;
  const otherwise = status === undefined ? 'with other arguments' : `with other arguments or another end`;
  const other = named.length > seen ? `, ${named.length - seen} ${otherwise}` : '';
  const ended = status === undefined ? '' : ` and ends ${status}`;
  return {
    expectation: `${shown(name)} is called${withArguments}${ended} ${howOften(least, most)}`,
    met: seen >= least && seen <= most,
    seen: `${seen} calls${other}`,
  };
}

function howOften(least: number, most: number): string {
  if (least === most) return `exactly ${least} times`;
  if (most === Number.POSITIVE_INFINITY) return `at least ${least} times`;
  return least === 0 ? `at most ${most} times` : `${least} to ${most} times`;
}

function checkOrder(order: readonly string[], names: readonly string[]): CheckedExpectation {
  let reached = 0;
  for (const name of names) if (name === order[reached]) reached += 1;
  return {
    expectation: `calls in the order ${shown(order)}`,
    met: reached === order.length,
    seen: `${reached} of ${order.length} in order`,
  };
}

function checkExactOrder(order: readonly string[], names: readonly string[]): CheckedExpectation {
  const met = order.length === names.length && order.every((name, index) => name === names[index]);
  return { expectation: `the calls are exactly ${shown(order)}`, met, seen: shown(names) };
}
