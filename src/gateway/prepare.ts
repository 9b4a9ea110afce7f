import { ProctorError } from '../contract/problem.ts';
import type { DecideRequest, NewToolRun, ToolRunRow } from '../contract/store.ts';
import { argumentsDigest, callDigest } from '../core/gateway.ts';
import type { Policy } from '../core/policy/compile.ts';
import { globMatches } from '../lib/glob.ts';
import { newId } from '../lib/id.ts';
import { type CallArguments, callArguments } from './arguments.ts';
import type { Catalogue, CatalogueTool } from './catalogue.ts';
import { type Decidable, decideCall, limitCharges } from './decision.ts';
import { argumentsMisfit } from './invoke.ts';
import type { Caller, GatewayDeps } from './ports.ts';

/** What a caller asks for. */
export interface CallRequest {
  /** `source.tool`. */
  readonly tool: string;
  /** A JSON value, or JSON text. */
  readonly arguments: unknown;
  readonly request_id?: string | null;
  readonly trace_id?: string | null;
  readonly caused_by?: string | null;
  readonly idempotency_key?: string | null;
  readonly edited_from?: string | null;
}

/** A call ready to be recorded and decided. */
export interface Prepared {
  readonly tool: CatalogueTool | null;
  readonly arguments: CallArguments;
  readonly run: NewToolRun;
  readonly policy: Policy | null;
  readonly facts: Decidable['facts'];
  /** The decision, in the transaction that records it or that uses its approval. */
  request(answered: Decidable['answered']): DecideRequest;
}

const MOST_NAME = 128;

/** Resolves a call: the tool, its definition, the arguments in canonical form and whether they fit, the policy of now. */
export async function prepare(
  deps: GatewayDeps,
  catalogue: Catalogue,
  caller: Caller,
  request: CallRequest,
  signal: AbortSignal,
): Promise<Prepared> {
  const redact = (text: string | null | undefined) => (text == null ? null : deps.secrets.text(text));
  const [source = '', ...rest] = plainName(deps.secrets.text(request.tool)).split('.');
  const name = rest.join('.');
  const { tool, problem } = await found(deps, catalogue, request.tool, signal);
  const input = callArguments(request.arguments, {
    secrets: deps.secrets,
    allowed: tool?.source.options.secrets ?? [],
  });
  const { policy, problem: policy_problem } = await policyOf(deps, caller);
  const { bound, principal, surface } = caller;
  const arguments_digest = argumentsDigest(input.canonical);
  const where = { run_id: bound?.run_id ?? null, ordinal: bound?.ordinal ?? null, attempt: bound?.attempt ?? null };
  const agent = bound?.agent ?? null;
  const identity = {
    source,
    name,
    definition_digest: tool?.digest ?? null,
    arguments_digest,
    principal: principal.id,
    agent,
  };
  const run: NewToolRun = {
    tool_run_id: newId('trn', deps.clock.now()),
    fence:
      bound === null
        ? null
        : { run_id: bound.run_id, ordinal: bound.ordinal, attempt: bound.attempt, lease_id: bound.lease_id },
    ...identity,
    arguments: input.canonical,
    call_digest: callDigest({ ...identity, ...where }),
    principal_kind: principal.kind,
    roles: principal.roles,
    surface,
    risk: tool?.risk ?? 'privileged',
    open_world: tool?.open_world ?? false,
    cost_micro_usd: tool?.cost_micro_usd ?? 0,
    request_id: redact(request.request_id),
    trace_id: redact(request.trace_id),
    caused_by: redact(request.caused_by),
    idempotency_key: keyOf(redact(request.idempotency_key), bound),
    edited_from: request.edited_from ?? null,
  };
  const frozen = bound === null || tool === null || bound.definitions.get(tool.tool) === tool.digest;
  const offered =
    bound?.tools === null || bound === null || bound.tools.some((glob) => globMatches(glob, request.tool));
  const refusal = offered
    ? input.refusal
    : { code: 'not_offered', message: `the profile does not offer \`${request.tool}\` to the agent` };
  const invalid = tool === null || input.refusal !== null ? null : await argumentsMisfit(deps, tool, input.value);
  const facts: Decidable['facts'] = {
    tool: `${source}.${name}`,
    source,
    arguments: input.value,
    principal,
    agent,
    risk: run.risk,
    bound: bound !== null,
    surface,
    ...deps.surroundings,
  };
  const decidable = {
    policy,
    policy_problem,
    facts,
    known: tool !== null,
    refusal:
      offered && !frozen
        ? { code: 'definition_changed', message: `\`${request.tool}\` is not as it was when the run was planned` }
        : problem === null
          ? refusal
          : { code: 'source_unavailable', message: problem },
    invalid,
    simulated: bound !== null,
  };
  return {
    tool,
    arguments: input,
    run,
    policy,
    facts,
    request: (answered) => ({
      session_id: deps.session_id,
      limits: limitCharges(policy, {
        tool: facts.tool,
        source,
        principal: principal.id,
        session: caller.session ?? deps.session_id,
        run_id: where.run_id,
        ordinal: where.ordinal,
      }),
      taint_ms: policy?.asks_taint === true ? policy.document.taint_ms : null,
      rejoin: null,
      decide: (found) => decideCall({ ...decidable, known: decidable.known || problem !== null, answered }, found),
    }),
  };
}

/** The same call as a stored one, with what holds now. */
export function requestOf(row: ToolRunRow): CallRequest {
  const { source, name, request_id, trace_id, caused_by } = row;
  return { tool: `${source}.${name}`, arguments: row.arguments, request_id, trace_id, caused_by };
}

/** Why there is no policy to ask, and where to look. */
export function policyProblem(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  const listed = ProctorError.is(error) && error.diagnostics.length > 0;
  return listed ? `${message}; \`proctor policy check\` shows them` : message;
}

/** A key is of its caller; an examined agent is another caller in every attempt, so that no attempt gets the outcome of another's call. */
function keyOf(key: string | null, bound: Caller['bound']): string | null {
  return key === null || bound === null ? key : `${bound.run_id}/${bound.ordinal}/${bound.attempt}/${key}`;
}

/** A name fit to be recorded: whatever the caller sent, it stays short and shows what it is. */
function plainName(tool: string): string {
  const ascii = tool.replaceAll(/[^A-Za-z0-9_.-]/g, (character) => `%${(character.codePointAt(0) ?? 0).toString(16)}`);
  return ascii.slice(0, MOST_NAME);
}

async function found(
  { secrets }: GatewayDeps,
  catalogue: Catalogue,
  tool: string,
  signal: AbortSignal,
): Promise<{ tool: CatalogueTool | null; problem: string | null }> {
  try {
    return { tool: await catalogue.find(tool, signal), problem: null };
  } catch (error) {
    return { tool: null, problem: secrets.text(error instanceof Error ? error.message : String(error)) };
  }
}

async function policyOf(deps: GatewayDeps, caller: Caller): Promise<{ policy: Policy | null; problem: string | null }> {
  if (caller.bound !== null) return { policy: caller.bound.policy, problem: null };
  try {
    return { policy: await deps.policy(), problem: null };
  } catch (error) {
    return { policy: null, problem: policyProblem(error) };
  }
}
