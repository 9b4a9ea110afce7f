import { z } from 'zod';
import { type Criterion, POINTS } from './judge-prompt.ts';

/** What one judge gave one criterion. */
export interface Grade {
  readonly id: string;
  readonly points: number;
  readonly reason: string;
}

const answerShape = z.object({
  criteria: z.array(
    z.object({ id: z.string(), reason: z.string().default(''), points: z.number().int().min(0).max(POINTS) }),
  ),
});

const MOST_REASON = 2_000;

/**
 * The grades in a judge's answer, one for every criterion in the rubric's order. Throws an Error that says what is wrong with the answer:
 * an answer that cannot be read is the grader's fault and never a zero. A fence of Markdown around the JSON is tolerated, nothing else is.
 */
export function parseGrades(text: string, criteria: readonly Criterion[]): Grade[] {
  const bare = /^\s*```(?:json)?\s*\n([\s\S]*?)\n?\s*```\s*$/.exec(text)?.[1] ?? text;
  let value: unknown;
  try {
    value = JSON.parse(bare);
  } catch (error) {
    throw new Error(`the judge's answer is not JSON: ${excerpt(text)}`, { cause: error });
  }
  const parsed = answerShape.safeParse(value);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new Error(
      `the judge's answer has not the shape asked for (${issue?.path.join('.')}: ${issue?.message}): ${excerpt(text)}`,
    );
  }
  const given = parsed.data.criteria;
  return criteria.map(({ id }) => {
    const found = given.filter((grade) => grade.id === id);
    if (found.length === 1 && found[0]) return { ...found[0], reason: cut(found[0].reason, MOST_REASON) };
    throw new Error(
      `the judge graded criterion \`${id}\` ${found.length === 0 ? 'not at all' : `${found.length} times`}: ${excerpt(text)}`,
    );
  });
}

function excerpt(text: string): string {
  return JSON.stringify(cut(text, 200));
}

/** The beginning of a text; the ellipsis also tells that a piece of a secret may stand in front of it. */
function cut(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most)}…` : text;
}
