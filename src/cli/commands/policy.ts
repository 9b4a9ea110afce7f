import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { loadPolicy } from '../../adapters/project/load-project.ts';
import { policySchema } from '../../contract/policy.ts';
import { ProctorError } from '../../contract/problem.ts';
import { explainPolicy, recordedFacts } from '../../core/policy/recorded.ts';
import type { GatewayApp } from '../../gateway-app.ts';
import type { Command, CommandContext } from '../context.ts';
import { counted, table } from '../format.ts';
import { policyDiff } from '../policy-diff.ts';
import { policyTests } from '../policy-tests.ts';
import { STARTER_POLICY } from '../starter-policy.ts';
import { oneLine } from '../tool-text.ts';
import { withGateway } from '../with-gateway.ts';

/** What a `policy` action may be told. */
export interface PolicyOptions {
  readonly action: string;
  readonly first?: string;
  readonly second?: string;
  readonly days: number;
  readonly run?: string;
  readonly limit: number;
  readonly force?: boolean;
}

type Action = (context: CommandContext, options: PolicyOptions) => Promise<number>;

/** `proctor policy check|test|explain|diff|init`. */
export const policy: Command<PolicyOptions> = async (context, options) => {
  const action = ACTIONS[options.action];
  if (action === undefined)
    throw new ProctorError(
      'usage',
      `there is no \`policy ${options.action}\`; the actions are ${Object.keys(ACTIONS).join(', ')}`,
    );
  return await action(context, options);
};

const check: Action = async (context, options) =>
  await withGateway(context, async ({ gateway, loaded }) => {
    const { output } = context;
    const file = options.first ?? path.relative(context.cwd, path.join(loaded.base_dir, loaded.project.policy));
    const { tools, problems } = await gateway.catalogue(new AbortController().signal, true);
    const down = problems.filter((problem) => problem.tool === null);
    const known =
      down.length > 0 || tools.length === 0
        ? null
        : tools.map(({ tool, definition }) => ({ tool, input_schema: definition.input_schema }));
    const policy = await loadPolicy(file, context.cwd, known, Object.keys(loaded.project.tools));
    if (policy === null)
      throw new ProctorError(
        'invalid_policy',
        `there is no policy at \`${file}\`; \`proctor policy init\` writes one to start from`,
      );
    const { rules, limits } = policy.document;
    for (const { source } of down)
      output.note(`proctor: \`${source}\` cannot be asked for its tools, so arguments and tool names are not checked`);
    const document = {
      ok: true,
      file,
      policy_digest: policy.digest,
      rules: rules.length,
      limits: limits.length,
      tools: known?.length ?? null,
    };
    const against = known === null ? '' : `, checked against ${counted(known.length, 'tool')}`;
    output.result(
      document,
      `${output.style('green', ' OK ')} ${oneLine(file)}: ${counted(rules.length, 'rule')}, ${counted(limits.length, 'limit')}${against}, digest ${policy.digest.slice(0, 12)}`,
    );
    return 0;
  });

const explain: Action = async (context, options) =>
  await withGateway(context, async (app, { store }) => {
    const { output } = context;
    if (options.first === undefined) throw new ProctorError('usage', 'which one? `proctor policy explain TOOL_RUN`');
    const row = await store.toolRun(options.first);
    if (row === null)
      throw new ProctorError(
        'not_found',
        `there is no tool run \`${options.first}\`; \`proctor tool ls --runs\` lists them`,
      );
    const events = await store.gatewayEvents({ tool_run_id: row.tool_run_id }, { after: null, limit: 1_000 });
    const decided = events
      .filter((event) => event.type === 'policy_decided')
      .map((event) => JSON.parse(event.body) as Decided);
    // Each by the policy and the facts of its own moment: a call that was asked for is decided again when its approval is used.
    const decisions = await Promise.all(
      decided.map(async ({ tainted, pinned, ...one }) => {
        const body = await store.policy(one.policy_digest);
        const facts = recordedFacts(row, {
          ...app.gateway.deps.surroundings,
          tainted: tainted === true,
          pinned,
        });
        const considered =
          body === null ? [] : explainPolicy(await app.ready(policySchema.parse(JSON.parse(body))), facts).rules;
        return { ...one, tainted, pinned, considered };
      }),
    );
    const error =
      row.error === null ? null : (JSON.parse(row.error) as { code: string | null; message: string | null });
    const document = {
      tool_run_id: row.tool_run_id,
      tool: `${row.source}.${row.name}`,
      status: row.status,
      reason: row.reason,
      message: error?.message ?? null,
      decisions,
    };
    const lines = [
      `${output.style('bold', oneLine(document.tool))} ${oneLine(row.arguments)}`,
      ...decisions.flatMap((one, index) => [
        `  ${index === 0 ? 'decided' : 'again  '} ${one.effect}${one.code === null ? '' : ` (${one.code})`}${one.rules.length > 0 ? ` by ${one.rules.join(', ')}` : ''}${one.tainted === true ? ', tainted by a tool of the open world' : ''}, policy ${one.policy_digest.slice(0, 12)}`,
        ...(one.considered.length === 0
          ? ['    no rule is about this tool']
          : [
              table(
                one.considered.map((rule) => [
                  `    ${rule.matched ? '●' : '○'} ${rule.id}`,
                  rule.effect,
                  TRUTHS[rule.truth],
                ]),
              ),
            ]),
      ]),
      ...(error?.message == null ? [] : [`  because ${oneLine(error.message)}`]),
    ];
    output.result(document, lines.join('\n'));
    return 0;
  });

interface Decided {
  readonly effect: string;
  readonly code: string | null;
  readonly rules: readonly string[];
  readonly policy_digest: string;
  readonly tainted: boolean | null;
  readonly pinned: boolean;
}

const TRUTHS = {
  holds: 'its conditions hold',
  fails: 'its conditions do not hold',
  unknown: 'its conditions cannot be told (an argument is missing, of another kind, or may be read in several ways)',
};

const init: Action = async ({ cwd, output }, options) => {
  const file = path.resolve(cwd, options.first ?? 'policy.yaml');
  if (existsSync(file) && !options.force) throw new ProctorError('usage', `\`${file}\` exists; --force writes over it`);
  await writeFile(file, STARTER_POLICY);
  output.result({ file }, `written: ${file}\n  proctor policy check   says whether it fits the tools`);
  return 0;
};

const test: Action = async (context, options) => {
  const file = options.first;
  if (file === undefined) throw new ProctorError('usage', 'which table? `proctor policy test FILE`');
  return await withGateway(context, (gateway: GatewayApp) => policyTests(context, gateway, file));
};

const diff: Action = async (context, options) =>
  await withGateway(context, (gateway, app) => policyDiff(context, gateway, app, options));

const ACTIONS: Readonly<Record<string, Action>> = { check, test, explain, diff, init };
