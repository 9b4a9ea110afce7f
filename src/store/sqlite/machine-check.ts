import { MACHINES } from '../../core/machines.ts';
import type { Connection } from './connection.ts';

/** Where the table that the triggers go by is not what the machines say: a forged edge lets through what may not happen, a missing one stops the work. */
export function machineDifferences(connection: Connection): string[] {
  const known = new Set(
    MACHINES.flatMap(({ name, next }) =>
      Object.entries<readonly string[]>(next).flatMap(([from, states]) =>
        states.map((to) => `${name}: ${from} → ${to}`),
      ),
    ),
  );
  const stored = connection
    .all<{ edge: string }>("select machine || ': ' || from_state || ' → ' || to_state as edge from state_transition")
    .map(({ edge }) => edge);
  const forged = stored
    .filter((edge) => !known.has(edge))
    .map((edge) => `${edge} is not a transition that Proctor has`);
  for (const edge of stored) known.delete(edge);
  return [...forged, ...[...known].map((edge) => `${edge} is missing`)];
}
