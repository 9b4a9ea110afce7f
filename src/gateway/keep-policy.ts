import type { Policy } from '../core/policy/compile.ts';
import { canonicalJson } from '../lib/canonical-json.ts';
import type { GatewayDeps } from './ports.ts';

const kept = new WeakMap<GatewayDeps['store'], Set<string>>();

/** Keeps the document of a policy before something is decided by it: decisions name it by its digest. */
export async function keepPolicy(store: GatewayDeps['store'], policy: Policy | null): Promise<void> {
  if (policy === null) return;
  let digests = kept.get(store);
  if (digests === undefined) {
    digests = new Set();
    kept.set(store, digests);
  }
  if (digests.has(policy.digest)) return;
  await store.keepPolicy(policy.digest, canonicalJson(policy.document));
  digests.add(policy.digest);
}
