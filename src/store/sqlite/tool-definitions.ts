import type { PinRow, ShownDefinition, SwitchRow } from '../../contract/store.ts';
import { canonicalJson } from '../../lib/canonical-json.ts';
import type { Connection } from './connection.ts';
import { endApproval, refuse } from './tool-endings.ts';
import { toolRunById } from './tool-rows.ts';
import type { Transaction } from './transaction.ts';

/** Keeps a policy by its digest. */
export function keepPolicy(tx: Transaction, digest: string, body: string): void {
  if (tx.connection.get('select 1 from policy where digest = ?', digest) !== undefined) return;
  tx.connection.run('insert into policy (digest, body) values (?, ?)', digest, body);
}

/** A policy's canonical JSON by its digest. */
export function policy(connection: Connection, digest: string): string | null {
  return connection.get<{ body: string }>('select body from policy where digest = ?', digest)?.body ?? null;
}

/**
 * Keeps what a source shows. A definition that is not the pinned one is told of: as the first of its tool, or as changed. A source of the
 * operator's own is pinned as it stands.
 */
export function showDefinitions(
  tx: Transaction,
  source: string,
  shown: readonly ShownDefinition[],
  own: boolean,
): ShownDefinition[] {
  const fresh: ShownDefinition[] = [];
  for (const definition of shown) {
    const { name, digest, body } = definition;
    const known = tx.connection.get(
      'select 1 from tool_definition where source = ? and name = ? and digest = ?',
      source,
      name,
      digest,
    );
    if (known === undefined) {
      tx.connection.run(
        'insert into tool_definition (source, name, digest, body, first_seen_at) values (?, ?, ?, ?, ?)',
        source,
        name,
        digest,
        body,
        tx.now,
      );
      const pinned = pinOf(tx.connection, source, name);
      tellOf(tx, 'tool_definition_changed', {
        source,
        name,
        digest,
        pinned,
        state: pinned === null ? 'new' : 'changed',
      });
      fresh.push(definition);
    }
    if (own) pinTool(tx, source, name, digest, 'service:proctor');
    // What was approved is not what the tool is now, whether or not somebody pins the new definition.
    else if (pinOf(tx.connection, source, name) !== digest) cancelOthers(tx, source, name, digest);
  }
  return fresh;
}

/** Makes a definition the one that may be called; approvals of calls that were checked against another are cancelled. */
export function pinTool(tx: Transaction, source: string, name: string, digest: string | null, by: string): void {
  if (pinOf(tx.connection, source, name) === digest) return;
  tx.connection.run(
    'insert into tool_pin (source, name, digest, pinned_by, pinned_at) values (?, ?, ?, ?, ?)',
    source,
    name,
    digest,
    by,
    tx.now,
  );
  tellOf(tx, 'tool_definition_pinned', { source, name, digest, by });
  cancelOthers(tx, source, name, digest);
}

/** Cancels open approvals of calls that were checked against another definition. */
function cancelOthers(tx: Transaction, source: string, name: string, digest: string | null): void {
  const waiting = tx.connection.all<{ tool_run_id: string; approval_id: string }>(
    `select t.tool_run_id, a.approval_id from approval a join tool_run t on t.tool_run_no = a.tool_run_no
where a.status in ('pending', 'approved') and t.source = ? and t.name = ? and t.definition_digest is not ?`,
    source,
    name,
    digest,
  );
  for (const { tool_run_id, approval_id } of waiting) {
    const row = toolRunById(tx.connection, tool_run_id);
    if (row === null) continue;
    const message = "the tool's definition has changed since the call was made; make the call again";
    endApproval(tx, row, approval_id, 'cancelled', 'definition_changed');
    refuse(tx, row, { effect: 'deny', code: 'definition_changed', message });
  }
}

function pinOf(connection: Connection, source: string, name: string): string | null {
  return (
    connection.get<{ digest: string | null }>(
      'select digest from tool_pin where source = ? and name = ? order by pin_no desc limit 1',
      source,
      name,
    )?.digest ?? null
  );
}

/** A definition's body. */
export function definition(connection: Connection, source: string, name: string, digest: string): string | null {
  return (
    connection.get<{ body: string }>(
      'select body from tool_definition where source = ? and name = ? and digest = ?',
      source,
      name,
      digest,
    )?.body ?? null
  );
}

/** The newest pin of every tool. */
export function pins(connection: Connection, source: string | null): PinRow[] {
  return connection.all<PinRow & Record<string, unknown>>(
    `select source, name, digest, pinned_by, pinned_at from tool_pin p
where pin_no = (select max(pin_no) from tool_pin m where m.source = p.source and m.name = p.name) and (?1 is null or source = ?1) order by source, name`,
    source,
  );
}

/** Turns a scope off or on. */
export function switchTool(tx: Transaction, scope: string, off: boolean, reason: string, by: string): void {
  tx.connection.run(
    'insert into tool_switch (scope, off, reason, switched_by, switched_at) values (?, ?, ?, ?, ?)',
    scope,
    off ? 1 : 0,
    reason,
    by,
    tx.now,
  );
  tellOf(tx, off ? 'tool_switched_off' : 'tool_switched_on', { scope, reason, by });
}

/** The newest row of every scope. */
export function switches(connection: Connection): SwitchRow[] {
  return connection.all<SwitchRow & Record<string, unknown>>(
    `select scope, off, reason, switched_by, switched_at from tool_switch s
where switch_no = (select max(switch_no) from tool_switch m where m.scope = s.scope) order by scope`,
  );
}

function tellOf(tx: Transaction, type: string, body: Readonly<Record<string, unknown>>): void {
  tx.gatewayEvent({ stream: 0, run_id: null, type, tool_run_no: null, tool_run_id: null, body: canonicalJson(body) });
}
