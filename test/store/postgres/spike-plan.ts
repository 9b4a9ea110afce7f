import type pg from 'pg';

/** A node of a plan that was run, as PostgreSQL tells of it. */
export interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly Plans?: readonly PlanNode[];
}

/** The nodes of the plan that a prepared statement is run with. */
export async function explain(client: pg.Client, call: string): Promise<PlanNode[]> {
  const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
    `explain (analyze, format json) execute ${call}`,
  );
  const flat = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(flat)];
  return rows.flatMap((row) => flat(row['QUERY PLAN'][0].Plan));
}

/** How a plan reads a table: node, index, rows. */
export function readsOf(nodes: readonly PlanNode[], table: string): unknown[] {
  const reads = nodes.filter((node) => node['Relation Name'] === table && node['Node Type'] !== 'ModifyTable');
  return reads.map((node) => [node['Node Type'], node['Index Name'], node['Actual Rows'] * node['Actual Loops']]);
}
