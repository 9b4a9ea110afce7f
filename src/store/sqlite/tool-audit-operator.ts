import { type EventBody, eventBody } from '../../core/gateway-replay.ts';
import type { Connection } from './connection.ts';

/** An event of no tool run. */
export interface OperatorEvent {
  readonly position: number;
  readonly type: string;
  readonly at: number;
  readonly body: string;
}

/** What an operator's table holds, as its events tell it: a line a row, in the order in which they were written. */
interface Table {
  readonly what: string;
  readonly types: readonly string[];
  readonly rows: string;
  told(event: OperatorEvent, body: EventBody): readonly unknown[];
}

const TABLES: readonly Table[] = [
  {
    what: 'pin',
    types: ['tool_definition_pinned'],
    rows: 'select source, name, digest, pinned_by, pinned_at from tool_pin order by pin_no',
    told: ({ at }, { source, name, digest, by }) => [source, name, digest, by, at],
  },
  {
    what: 'switch',
    types: ['tool_switched_off', 'tool_switched_on'],
    rows: 'select scope, off, reason, switched_by, switched_at from tool_switch order by switch_no',
    told: ({ type, at }, { scope, reason, by }) => [scope, type === 'tool_switched_off' ? 1 : 0, reason, by, at],
  },
  {
    what: 'definition',
    types: ['tool_definition_changed'],
    rows: 'select source, name, digest, first_seen_at from tool_definition',
    told: ({ at }, { source, name, digest }) => [source, name, digest, at],
  },
];

/** Where pins, switches and definitions are not what the events that tell of them say, a sentence each. */
export function operatorDifferences(connection: Connection, events: readonly OperatorEvent[]): string[] {
  const known = new Set(TABLES.flatMap(({ types }) => types));
  const strange = events
    .filter(({ type }) => !known.has(type))
    .map(({ type, position }) => `the event at position ${position} (\`${type}\`) is of no tool run`);
  return [...strange, ...TABLES.flatMap((table) => tableDifferences(connection, table, events))];
}

function tableDifferences(connection: Connection, table: Table, events: readonly OperatorEvent[]): string[] {
  const told = events
    .filter(({ type }) => table.types.includes(type))
    .map((event) => JSON.stringify(table.told(event, eventBody(event) ?? {})));
  const stored = connection.all(table.rows).map((row) => JSON.stringify(Object.values(row)));
  if (table.what === 'definition') {
    told.sort(); // its table is kept by key, not in the order of writing
    stored.sort();
  }
  const place = Array.from({ length: Math.max(told.length, stored.length) }).findIndex(
    (_, index) => told[index] !== stored[index],
  );
  if (place === -1) return [];
  return [`${table.what}s: ${stored[place] ?? 'a row is missing'}, by the events ${told[place] ?? 'there is none'}`];
}
