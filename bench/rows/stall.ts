import { allowAll, gatewayProject, hostile, RECORDING, tool, upstream } from '../../test/support/gateway-project.ts';
import { type Figure, type Row, shown } from '../row.ts';

/** How long hostile input holds the gateway's thread, by its own processor time: meanwhile nobody else is served. */
export const stall: Row = {
  name: 'stall',
  title: 'hostile globs, schemas and outputs: the longest hold of the gateway’s thread',
  async measure({ note }) {
    const figures: Figure[] = [];
    const add = (figure: string, bar: number, held: number) => {
      note(`${figure}: ${shown(held)} ms`);
      figures.push({ figure, bar: `≤ ${shown(bar)} ms`, measured: `${shown(held)} ms`, beside: '', met: held <= bar });
    };
    add('the worst of globs in 50 rules, 100,000 characters', 100, await globs());
    for (const [name, schema] of Object.entries(SCHEMAS)) add(`a schema of ${name}`, 250, await schemaOf(schema));
    for (const name of ['silent', 'drip', 'huge', 'many', 'deep', 'garbage'])
      add(`an output that is ${name}`, 500, await output(name, {}));
    add('an output of 400,000 items', 2_500, await output('many', { items: 400_000 }));
    return { figures, details: {} };
  },
};

const WORST = `${'a*'.repeat(90)}b`;
const SCHEMAS: Readonly<Record<string, object>> = {
  'a pattern that backtracks': { type: 'object', properties: { x: { type: 'string', pattern: '^(a+)+$' } } },
  'alternatives that multiply': doubling(20),
  'thousands of properties': {
    type: 'object',
    properties: Object.fromEntries(Array.from({ length: 9_000 }, (_, index) => [`p${index}`, { minLength: index }])),
  },
};
const ACTS = ['silent', 'drip', 'huge', 'many', 'deep', 'garbage', 'act'].map((name) => tool(name));

async function globs(): Promise<number> {
  const rules = Array.from({ length: 50 }, (_, index) => ({
    id: `r${index}`,
    when: { 'args.text': { glob: [WORST, WORST] } },
    effect: 'allow',
  }));
  await using project = await gatewayProject({ ...RECORDING, policy: { rules } });
  await project.call('own.act', { text: 'warm' });
  return await longestHold(() => project.call('own.act', { text: 'a'.repeat(100_000) }));
}

async function schemaOf(inputSchema: object): Promise<number> {
  await using project = await gatewayProject({
    files: RECORDING.files,
    tools: { ...RECORDING.tools, up: hostile([[tool('act', { inputSchema })]]) },
    policy: allowAll(),
  });
  await project.call('own.act', { warm: true });
  return await longestHold(() =>
    Promise.all([project.call('up.act', { x: `${'a'.repeat(60)}!` }), project.call('own.act', { beside: true })]),
  );
}

async function output(name: string, input: object): Promise<number> {
  await using project = await upstream([ACTS], allowAll(), { timeout_ms: { '*': 1_500, huge: 20_000, many: 20_000 } });
  await project.call('up.act', {});
  return await longestHold(() => project.call(`up.${name}`, { ...input }));
}

/** The most that this thread works at one thing before it looks after the next, in ms of processor time. */
async function longestHold(work: () => Promise<unknown>): Promise<number> {
  const worked = () => {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1_000;
  };
  let last = worked();
  let longest = 0;
  const look = () => {
    const now = worked();
    longest = Math.max(longest, now - last);
    last = now;
  };
  const timer = setInterval(look, 1);
  await work();
  clearInterval(timer);
  look();
  return longest;
}

/** A schema of a few lines whose alternatives multiply by references. */
function doubling(levels: number): object {
  const $defs: Record<string, object> = {};
  for (let index = 0; index < levels; index += 1)
    $defs[`d${index}`] =
      index === levels - 1
        ? { const: 'never' }
        : {
            anyOf: [
              { allOf: [{ $ref: `#/$defs/d${index + 1}` }, { type: 'string' }] },
              { $ref: `#/$defs/d${index + 1}` },
            ],
          };
  return { type: 'object', $defs, properties: { x: { $ref: '#/$defs/d0' } } };
}
