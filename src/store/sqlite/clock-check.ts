import type { Connection } from './connection.ts';

const LAST_INSTANT = 8_640_000_000_000_000; // the last that a date can name

/** Keys of `meta`. */
const KEYS = ['last_now'];

/** Where what the store keeps of its clock cannot be: no instant at all, or one before the last that it wrote; and keys that are not Proctor's. */
export function clockDifferences(connection: Connection): string[] {
  const clock = connection.get<{ type: string; shown: string; beyond: number; behind: number }>(
    `select typeof(value) as type, cast(value as text) as shown, (value not between 0 and ${LAST_INSTANT} or value <> cast(value as integer)) as beyond, value < max(
  coalesce((select at from event order by position desc limit 1), 0),
  coalesce((select at from gateway_event order by position desc limit 1), 0)
) as behind from meta where key = 'last_now'`,
  );
  const strange = connection
    .all<{ key: string }>('select key from meta order by key')
    .filter(({ key }) => !KEYS.includes(key))
    .map(({ key }) => `meta: \`${key}\` is not a key that Proctor writes`);
  if (strange.length > 0) return strange;
  if (clock === undefined) return ['meta: `last_now` is missing'];
  const { type, shown, beyond, behind } = clock;
  if (!['integer', 'real'].includes(type) || beyond === 1)
    return [`meta: \`last_now\` is \`${shown}\`, which is not an instant`];
  return behind === 1 ? [`meta: \`last_now\` is \`${shown}\`, before the last event`] : [];
}
