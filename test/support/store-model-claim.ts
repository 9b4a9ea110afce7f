import type { Claim, ClaimRequest } from '../../src/contract/store.ts';
import type { StoreModel } from './store-model.ts';
import type { ModelExecution, ModelRun } from './store-model-run.ts';

/** Predicts a claim; `leases` gives the lease id that the store made up for a run. */
export function predictClaim(model: StoreModel, request: ClaimRequest, leases: ReadonlyMap<string, string>): Claim[] {
  const open = [...model.runs.values()].filter((run) => run.status === 'running' && run.cancel_requested_at === null);
  const asked = open.filter((run) => request.run_ids === null || request.run_ids.includes(run.run_id));
  // A claim that could find nothing is only a look: it has no instant.
  if (!asked.some((run) => run.claimable(model.schedule))) return [];
  const now = model.instant();
  const runs = asked.sort((a, b) => a.pass() - b.pass() || a.number - b.number);
  const claims: Claim[] = [];
  for (const { run, item } of lastTry(model, runs, request) ?? others(model, runs, request)) {
    const lease_id = leases.get(run.run_id) ?? `run ${run.run_id} should have been claimed from`;
    claims.push(
      item.open(run, now, { session_id: request.session_id, until: model.schedule + request.lease_ms }, lease_id),
    );
  }
  model.tokens.push(...claims);
  return claims;
}

interface Chosen {
  readonly run: ModelRun;
  readonly item: ModelExecution;
}

function isLastTry(item: ModelExecution, { max_losses }: ClaimRequest): boolean {
  return item.failures.lease >= Math.max(1, max_losses);
}

/** One on its last try, or nothing for the sake of one; null when the claim goes the common way. */
function lastTry(model: StoreModel, runs: readonly ModelRun[], request: ClaimRequest): Chosen[] | null {
  const own = [...model.runs.values()].flatMap((run) => run.heldBy(request.session_id));
  if (own.some((item) => isLastTry(item, request))) return [];
  if (request.capacity === 0) return null;
  for (const run of runs) {
    const item = run.due(model.schedule).find((one) => isLastTry(one, request));
    if (item === undefined) continue;
    if (own.length > 0 && item.available_at <= model.schedule - request.lease_ms) return [];
    if (own.length === 0 && run.queued('running').length < run.concurrency) return [{ run, item }];
  }
  return null;
}

function others(model: StoreModel, runs: readonly ModelRun[], request: ClaimRequest): Chosen[] {
  const chosen: Chosen[] = [];
  for (const run of runs) {
    const take = Math.min(request.capacity - chosen.length, share(model, run, request));
    if (take <= 0) continue;
    const due = run.due(model.schedule).filter((item) => !isLastTry(item, request));
    const fresh = run.queued('pending').sort((a, b) => a.order_key - b.order_key || a.ordinal - b.ordinal);
    chosen.push(...[...due, ...fresh].slice(0, take).map((item) => ({ run, item })));
  }
  return chosen;
}

function share(model: StoreModel, run: ModelRun, request: ClaimRequest): number {
  const live = [...model.sessions.values()].filter(
    (one) => !one.ended && one.last_seen_at > model.schedule - request.lease_ms,
  ).length;
  const own = run.heldBy(request.session_id).length;
  const most = run.concurrency + (live <= 1 ? request.ahead : 0);
  return Math.min(most - run.queued('running').length, Math.ceil(most / Math.max(1, live)) - own);
}
