/** Which cluster each case belongs to: a name, a code from 0, or null and −1 for a case of its own; null when no case has one. */
export type Clusters = readonly (string | null)[] | Int32Array | null;

/** The clusters of a row of cases as codes from 0 to `count` − 1, by first appearance; a case without cluster is one of its own. */
export interface ClusterCodes {
  readonly codes: Int32Array;
  readonly count: number;
}

/** Numbers the clusters; null when no case names one, so that cases are the units. Throws a RangeError when there is not one per value. */
export function clusterCodes(clusters: Clusters, n: number): ClusterCodes | null {
  if (clusters === null) return null;
  if (clusters.length !== n) throw new RangeError(`${clusters.length} clusters stand for ${n} values`);
  const known = new Map<string | number, number>();
  const codes = new Int32Array(n);
  let count = 0;
  for (let index = 0; index < n; index += 1) {
    const cluster = clusters[index]!;
    const own = cluster === null || (typeof cluster === 'number' && cluster < 0);
    const code = own ? undefined : known.get(cluster);
    codes[index] = code ?? count;
    if (code !== undefined) continue;
    if (!own) known.set(cluster, count);
    count += 1;
  }
  return known.size === 0 ? null : { codes, count };
}
