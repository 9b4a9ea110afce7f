import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { createApp } from '../../src/app.ts';
import { policySchema } from '../../src/contract/policy.ts';
import { compilePolicy } from '../../src/core/policy/compile.ts';
import { decidePolicy } from '../../src/core/policy/decide.ts';
import type { CallFacts } from '../../src/core/policy/facts.ts';
import type { Caller } from '../../src/gateway/ports.ts';
import { openGatewayApp } from '../../src/gateway-app.ts';
import { median, percentile, type Row, shown, told } from '../row.ts';

const RULES = 500;
const WARM_UP = 200;

/** What one gated call costs: its commits, what it takes beyond them, and the policy's part of that. */
export const gateway: Row = {
  name: 'gateway',
  title: 'one allowed call of a module tool after another, a policy of 500 rules, all triggers, synchronous=FULL',
  async measure({ folder, quick, note }) {
    const calls = quick ? 500 : 3_000;
    const { times, commits, committing, flushing, tool } = await gatedCalls(folder, calls);
    const beyond = times.map((total, index) => total - (committing[index] ?? 0));
    const beyondFlush = median(times.map((total, index) => total - (flushing[index] ?? 0)));
    note(
      `${calls} calls, ${shown(median(times))} ms each, of which ${shown(median(committing))} ms in transactions, ${shown(median(flushing))} ms of that in the flush`,
    );
    const decisions = decisionTimes(quick ? 2_000 : 20_000, policyDocument('bench.echo'));
    const folderDecisions = decisionTimes(quick ? 2_000 : 20_000, folderRules());
    const folders = median(folderDecisions);
    const alone = median(tool); // the tool's own time is no cost of the gateway
    const p50 = median(beyond) - alone;
    const decision = median(decisions);
    return {
      figures: [
        {
          figure: 'durable commits of an allowed call',
          bar: '≤ 3',
          measured: shown(commits),
          beside: '',
          met: commits <= 3,
        },
        {
          figure: 'beyond its durable commits (BEGIN to COMMIT) and the tool, p50',
          bar: '≤ 0.5 ms',
          measured: `${shown(p50)} ms`,
          beside: `p99 ${shown(percentile(beyond, 0.99) - alone)} ms; the tool alone ${shown(alone)} ms; commits ${shown(median(committing))} ms; all but the flush of COMMIT itself ${shown(beyondFlush)} ms`,
          met: p50 <= 0.5,
        },
        {
          figure: `policy decision, ${RULES} rules, p50`,
          bar: '< 50 µs',
          measured: `${shown(decision * 1000)} µs`,
          beside: `p99 ${shown(percentile(decisions, 0.99) * 1000)} µs`,
          met: decision < 0.05,
        },
        {
          figure: `policy decision, ${RULES} rules about folders, p50`,
          bar: '< 50 µs',
          measured: `${shown(folders * 1000)} µs`,
          beside: `p99 ${shown(percentile(folderDecisions, 0.99) * 1000)} µs`,
          met: folders < 0.05,
        },
        told('calls a second, one after another', shown(1000 / median(times))),
      ],
      details: {
        calls,
        times,
        committing,
        flushing,
        tool,
        decisions: { p50: decision, p99: percentile(decisions, 0.99) },
      },
    };
  },
};

async function gatedCalls(folder: string, calls: number) {
  await mkdir(folder, { recursive: true });
  await writeFile(path.join(folder, 'tools.mjs'), TOOLS);
  await writeFile(path.join(folder, 'policy.yaml'), JSON.stringify(policyDocument('bench.echo')));
  await writeFile(
    path.join(folder, 'proctor.yaml'),
    'version: 1\ntools: { bench: { kind: module, path: tools.mjs, risk: read_only } }\n',
  );
  await using app = await createApp({ cwd: folder, environment: process.env });
  await using opened = await openGatewayApp(app, { environment: process.env, note: () => undefined });
  const caller: Caller = { principal: opened.principal('agent:bench'), surface: 'mcp', bound: null };
  const signal = new AbortController().signal;
  using commits = timedCommits();
  const call = async (n: number): Promise<void> => {
    const started = await opened.gateway.start(
      caller,
      { tool: 'bench.echo', arguments: { text: `call ${n}`, n } },
      signal,
    );
    const leg = await started.next({ hold_ms: 60_000, signal });
    if (leg.type !== 'done' || leg.run.status !== 'ok')
      throw new Error(`call ${n} ended as ${JSON.stringify(leg.run)}`);
  };
  for (let n = 0; n < WARM_UP; n += 1) await call(n);
  const times: number[] = [];
  const committing: number[] = [];
  const flushing: number[] = [];
  const before = app.store.statistics.commits;
  for (let n = 0; n < calls; n += 1) {
    commits.taken = 0;
    commits.flushing = 0;
    const started = performance.now();
    await call(n);
    times.push(performance.now() - started);
    committing.push(commits.taken);
    flushing.push(commits.flushing);
  }
  const each = (app.store.statistics.commits - before) / calls;
  return { times, commits: each, committing, flushing, tool: await toolAlone(folder, calls) };
}

/** The same tool in its thread without the gateway: what the gateway cannot take away. */
async function toolAlone(folder: string, calls: number): Promise<number[]> {
  const { openModuleHost } = await import('../../src/adapters/transport/module-host.ts');
  const host = await openModuleHost({ path: path.join(folder, 'tools.mjs'), export_name: 'echo' });
  const signal = new AbortController().signal;
  const times: number[] = [];
  for (let n = 0; n < calls; n += 1) {
    const started = performance.now();
    await host.call({ text: `call ${n}`, n }, { signal, timeout_ms: 60_000 });
    times.push(performance.now() - started);
  }
  await host.close();
  return times;
}

/** Adds up the time from BEGIN to the end of COMMIT, and that of COMMIT alone, which is the flush to the disk. */
function timedCommits(): Disposable & { taken: number; flushing: number } {
  const { exec } = DatabaseSync.prototype;
  let begun = 0;
  const timed = {
    taken: 0,
    flushing: 0,
    [Symbol.dispose]: () => {
      DatabaseSync.prototype.exec = exec;
    },
  };
  DatabaseSync.prototype.exec = function (sql) {
    const started = performance.now();
    if (sql === 'begin immediate') begun = started;
    exec.call(this, sql);
    if (sql !== 'commit') return;
    timed.taken += performance.now() - begun;
    timed.flushing += performance.now() - started;
  };
  return timed;
}

function policyDocument(tool: string) {
  const rules = Array.from({ length: RULES - 1 }, (_, index) => ({
    id: `rule-${index}`,
    tools: index % 2 === 0 ? [`source${index}.*`, '*.delete_*'] : ['*'],
    when: { 'args.text': { glob: `nothing ${index} *` }, risk: ['write', 'read_only'] },
    effect: index % 3 === 0 ? 'deny' : index % 3 === 1 ? 'ask' : 'allow',
  }));
  return { version: 1, rules: [...rules, { id: 'let', tools: [tool], effect: 'allow' }] };
}

/** Conditions on one path: every rule of the tool reads the argument as a path and looks whether it is inside another folder. */
function folderRules() {
  const rules = Array.from({ length: RULES - 1 }, (_, index) => ({
    id: `rule-${index}`,
    tools: index % 2 === 0 ? ['*'] : [`source${index}.*`],
    when: { 'args.path': { under: `/workspace/${index}` } },
    effect: index % 3 === 0 ? 'ask' : 'allow',
  }));
  return { version: 1, rules: [...rules, { id: 'let', tools: ['bench.echo'], effect: 'allow' }] };
}

function decisionTimes(count: number, document: unknown): number[] {
  const policy = compilePolicy(policySchema.parse(document));
  const facts: CallFacts = {
    tool: 'bench.echo',
    source: 'bench',
    arguments: { text: 'call 7', n: 7, path: '/workspace/a/../b.txt' },
    principal: { id: 'agent:bench', kind: 'agent', roles: [] },
    agent: null,
    risk: 'read_only',
    pinned: true,
    bound: false,
    tainted: false,
    surface: 'mcp',
    realPath: (file) => file,
    folder: (name) => ({ path: name, real: name }),
    sql: () => null,
  };
  const times: number[] = [];
  for (let n = 0; n < count; n += 1) {
    const started = performance.now();
    const { effect } = decidePolicy(policy, facts);
    times.push(performance.now() - started);
    if (effect !== 'allow') throw new Error(`the policy answered ${effect}`);
  }
  return times;
}

const TOOLS = `export const echo = async (input) => ({ text: input.text });
export const tools = {
  echo: {
    description: 'gives back what it gets',
    input_schema: { type: 'object', properties: { text: { type: 'string', maxLength: 1000 }, n: { type: 'integer' } }, required: ['text'] },
    output_schema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
    run: echo,
  },
};
`;
