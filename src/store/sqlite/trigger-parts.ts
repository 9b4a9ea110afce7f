/** Refuses a verb on every row of a table. */
export function refuse(table: string, verb: 'update' | 'delete'): string {
  return `create trigger ${table}_no_${verb} before ${verb} on ${table} begin
  select raise(abort, 'proctor: ${table} is append-only, ${verb} is refused');
end`;
}

/** Refuses an insert that would replace a row: one of the keys is taken. */
export function refuseReplace(table: string, keys: readonly string[]): string {
  const exists = keys.map((key) => `exists (select 1 from ${table} where ${key})`).join(' or ');
  return `create trigger ${table}_no_replace before insert on ${table} when ${exists} begin
  select raise(${table === 'execution' ? 'fail' : 'abort'}, 'proctor: ${table} has this row already, it cannot be replaced');
end`;
}

/** Refuses a change of status that the machine does not have. */
export function transition(machine: string, table: string): string {
  return `create trigger ${table}_transition before update of status on ${table}
when old.status <> new.status and not exists (
  select 1 from state_transition where machine = '${machine}' and from_state = old.status and to_state = new.status
) begin
  select raise(abort, 'proctor: illegal transition of ${table}.status');
end`;
}

/** Refuses a change of columns that a row was created with. */
export function frozen(table: string, columns: readonly string[]): string {
  return `create trigger ${table}_frozen before update of ${columns.join(', ')} on ${table} when ${columns.map((column) => `new.${column} is not old.${column}`).join(' or ')} begin
  select raise(abort, 'proctor: what a row of ${table} was created with does not change');
end`;
}

/**
 * One trigger that refuses by the first condition that holds, for the tables that every execution writes: entering a trigger
 * costs more than a look-up in it. FAIL and not ABORT: with ABORT, SQLite opens a statement journal for every statement; a
 * statement of one row is refused alike, one of many rows may leave those before the refused one, each of which was legal.
 */
export function guard(
  name: string,
  event: string,
  conditions: readonly (readonly [when: string, message: string])[],
): string {
  const cases = conditions.map(([when, message]) => `    when ${when} then raise(fail, 'proctor: ${message}')`);
  return `create trigger ${name} before ${event} begin
  select case
${cases.join('\n')}
  end;
end`;
}

/** The condition that a change of status is none of the machine's. */
export function illegal(machine: string): string {
  return `old.status <> new.status and not exists (
      select 1 from state_transition where machine = '${machine}' and from_state = old.status and to_state = new.status
    )`;
}
