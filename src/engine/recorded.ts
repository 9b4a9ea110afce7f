import { type AgentFailure, agentFailure } from '../contract/agent.ts';
import type { ArtifactStore } from '../contract/artifact.ts';
import type { Plugins } from '../contract/ports.ts';
import type { Profile } from '../contract/profile.ts';
import type { Snapshot } from '../contract/snapshot.ts';
import type { RunReaders } from '../contract/store.ts';
import { allExecutions } from './all-executions.ts';
import { bodyOf, type EnvelopeBody, type KeptAnswer, readKept } from './evidence-rows.ts';

/** The code that a run is frozen with: the agent's too, unless its answers are there already. */
export async function codeOf(
  plugins: Plugins,
  profile: Profile,
  baseDir: string,
  regraded = true,
): Promise<Snapshot['code']> {
  return await plugins.code(regraded ? { ...profile, agent: { ...profile.agent, kind: 'echo' } } : profile, baseDir);
}

/** How many kept answers of a run a secret was taken out of: they cannot be graded anew. */
export async function redactedAnswers(
  deps: { readonly store: RunReaders; readonly artifacts: ArtifactStore },
  runId: string,
): Promise<number> {
  let count = 0;
  for await (const page of allExecutions(deps.store, runId)) {
    const rows = await deps.store.evidence(
      runId,
      page.map(({ ordinal }) => ordinal),
    );
    const deciding = new Map(page.map(({ ordinal, attempt }) => [ordinal, attempt]));
    for (const row of rows) {
      if (row.kind !== 'envelope' || deciding.get(row.ordinal) !== row.attempt) continue;
      const body = JSON.parse(await bodyOf(deps.artifacts, row)) as EnvelopeBody;
      if (body.redacted !== undefined) count += 1;
    }
  }
  return count;
}

/** The kept answer of an execution of the run that is graded anew, or the failure that it had instead. */
export async function recordedAnswer(
  deps: { readonly store: RunReaders; readonly artifacts: ArtifactStore },
  runId: string,
  ordinal: number,
): Promise<KeptAnswer | AgentFailure> {
  const [row] = await deps.store.executionsAt(runId, [ordinal]);
  const evidence = (await deps.store.evidence(runId, [ordinal])).filter(({ attempt }) => attempt === row?.attempt);
  const kept = await readKept(deps.artifacts, evidence);
  if (kept !== null) return { ...kept, results: [] };
  const failure = evidence.findLast(({ kind }) => kind === 'failure');
  if (failure !== undefined) {
    const body = JSON.parse(await bodyOf(deps.artifacts, failure)) as Omit<AgentFailure, 'type'>;
    return { ...body, type: 'failure' };
  }
  return agentFailure('infrastructure', 'no_answer', `run ${runId} has no answer of this execution`);
}
