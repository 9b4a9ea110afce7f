import type { Json } from '../../lib/canonical-json.ts';
import type { JsonIssue } from '../../lib/json-issue.ts';
import { setOwn } from '../../lib/own-member.ts';
import { parseStrictJson } from '../../lib/strict-json.ts';
import { CASE_FIELDS } from './field-mapping.ts';
import { nearestName } from './nearest-name.ts';

/** A column of a CSV file: the case field it fills, the member below it (`metadata.KEY`), and whether cells are JSON. */
export interface CsvColumn {
  readonly name: string;
  /** Null when the column fills no case field by its name. */
  readonly field: string | null;
  readonly key: string | null;
  readonly json: boolean;
}

/** Fields that may be made of several columns (`context.locale`) or of JSON cells (`expected:json`). */
const STRUCTURED = new Set(['input', 'expected', 'context', 'metadata']);

/** The columns of a header row. */
export function csvColumns(header: readonly string[]): CsvColumn[] {
  return header.map((name) => {
    const plain = { name, field: CASE_FIELDS.includes(name) ? name : null, key: null, json: false };
    const json = name.endsWith(':json');
    const [, field = '', key = null] = /^([a-z_]+)(?:\.(.+))?$/s.exec(json ? name.slice(0, -5) : name) ?? [];
    return STRUCTURED.has(field) && (json || key !== null) ? { name, field, key, json } : plain;
  });
}

/** What is wrong with a header row; a mapped dataset may have columns of any name. */
export function headerMistakes(columns: readonly CsvColumn[], mapped: boolean): { message: string; hint: string }[] {
  const mistakes: { message: string; hint: string }[] = [];
  const seen = new Set<string>();
  const filled = new Map<string, CsvColumn>();
  for (const column of columns) {
    const { name, field, key } = column;
    if (name === '') mistakes.push({ message: 'a column has no name', hint: 'the first row must name every column' });
    else if (seen.has(name)) mistakes.push({ message: `duplicate column \`${name}\``, hint: 'rename one of the two' });
    else if (field === null && !mapped) mistakes.push(unknownColumn(name));
    seen.add(name);
    if (field === null) continue;
    const other = filled.get(field);
    if (other && other.name !== name && (other.key === null || key === null)) {
      const message = `the columns \`${other.name}\` and \`${name}\` both fill \`${field}\``;
      mistakes.push({ message, hint: `use either one column or \`${field}.KEY\` columns` });
    }
    filled.set(field, column);
  }
  for (const field of mapped ? [] : ['id', 'input']) {
    if (filled.has(field)) continue;
    const hint = `name a column \`${field}\`, or map it (\`fields: { ${field}: /column }\`)`;
    mistakes.push({ message: `there is no column \`${field}\``, hint });
  }
  return mistakes;
}

/** The members that the cells make, and what is wrong with the cells that are JSON. */
export interface CsvMembers {
  readonly value: Readonly<Record<string, Json>>;
  readonly wrong: readonly { readonly column: string; readonly issue: JsonIssue }[];
}

/** Joins the cells of a record; an empty cell is an absent value. A mapped dataset sees every column by its name too. */
export function csvMembers(
  columns: readonly CsvColumn[],
  cells: readonly string[],
  mapped: ReadonlySet<string> | null,
): CsvMembers {
  const value: Record<string, Json> = {};
  const wrong: { column: string; issue: JsonIssue }[] = [];
  columns.forEach(({ name, field, key, json }, index) => {
    const cell = cells[index] ?? '';
    if (mapped) setOwn(value, name, cell === '' ? null : cell);
    if (field === null || mapped?.has(field) || (key === null && !json && mapped)) return;
    if (cell === '') return;
    let content: Json = cell;
    if (json) {
      const parsed = parseStrictJson(cell);
      for (const issue of parsed.issues) wrong.push({ column: name, issue });
      if (parsed.type === 'invalid') return;
      content = parsed.value;
    }
    if (key === null) value[field] = content;
    else {
      const group = (value[field] ?? {}) as Record<string, Json>;
      setOwn(group, key, content);
      value[field] = group;
    }
  });
  return { value, wrong };
}

function unknownColumn(name: string): { message: string; hint: string } {
  const near = nearestName(name, [...CASE_FIELDS, 'input:json', 'expected:json']);
  const known = near
    ? `did you mean \`${near}\`?`
    : `columns are ${CASE_FIELDS.join(', ')}, metadata.KEY, context.KEY, input.KEY.`;
  return {
    message: `a case has no field for the column \`${name}\``,
    hint: `${known} Map the fields to use columns of other names`,
  };
}
