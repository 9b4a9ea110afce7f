/** An evaluator of a case group, as a profile writes it. */
export interface Evaluator {
  readonly ref: string;
  readonly dimension: string;
  readonly weight: number;
  readonly config: Readonly<Record<string, unknown>>;
}

/** An assertion as an evaluator: with what it compares in its config, or in the case's `expected` (`expected` says what). */
export interface Assertion {
  readonly byConfig: Evaluator;
  readonly byCase: Evaluator;
  /** What the case would expect; null when it is no matter of the case. */
  readonly expected: string | null;
}

type Config = Readonly<Record<string, unknown>>;

/** The evaluator of a promptfoo assertion, or a sentence that says why there is none. */
export function assertionOf(assertion: Readonly<Record<string, unknown>>, at: string): Assertion | string {
  const { type: name, value, threshold, weight, metric, ...more } = assertion;
  const [strange] = Object.keys(more);
  if (strange !== undefined) return `${at}: its \`${strange}\` has no counterpart, so it is left out whole`;
  if (typeof name !== 'string') return `${at}: it has no \`type\``;
  if ([value].flat().some((item) => typeof item === 'string' && /^(?:file:\/\/|package:)/.test(item)))
    return `${at}: the value of \`${name}\` is a file or a package, which is not read`;
  const negated = name.startsWith('not-');
  const type = negated ? name.slice(4) : name;
  const found = TYPES[type]?.({ value, threshold, negated });
  if (found === undefined || found === null)
    return `${at}: \`${name}\` has no counterpart; write it as \`module:PATH#EXPORT\` or \`judge@1\``;
  const common = {
    dimension: typeof metric === 'string' ? metric : 'correctness',
    weight: typeof weight === 'number' && weight >= 0 ? weight : 1,
  };
  const { ref, config, expected = null, caseConfig = config } = found;
  return { byConfig: { ref, ...common, config }, byCase: { ref, ...common, config: caseConfig }, expected };
}

interface Found {
  readonly ref: string;
  readonly config: Config;
  readonly expected?: string;
  /** The config when the case's `expected` holds the value. */
  readonly caseConfig?: Config;
}

interface Given {
  readonly value: unknown;
  readonly threshold: unknown;
  readonly negated: boolean;
}

const contains =
  (more: Config) =>
  ({ value, negated }: Given): Found | null => {
    const several = more['all'] !== undefined && typeof value === 'string'; // a text of several is separated by commas
    if (several && value.includes('"')) return null; // a comma in quotes does not separate
    const given = several ? value.split(',').map((item) => item.trim()) : Array.isArray(value) ? value : [value];
    const values = given.map((item) => (typeof item === 'number' ? String(item) : item));
    if (!values.every((item) => typeof item === 'string' && item !== '') || values.length === 0) return null;
    if (negated) {
      // Not to hold all of several phrases is another thing than to hold none of them.
      return more['all'] === true && values.length > 1
        ? null
        : { ref: 'contains@1', config: { not: values, ...(more['ignore_case'] ? { ignore_case: true } : {}) } };
    }
    const [only] = values;
    const single = values.length === 1 && only !== undefined ? { expected: only, caseConfig: more } : {};
    return { ref: 'contains@1', config: { values, ...more }, ...single };
  };

const pattern =
  (of: (text: string) => string) =>
  ({ value, negated }: Given): Found | null =>
    typeof value === 'string' && value !== ''
      ? { ref: 'regex@1', config: { pattern: of(value), ...(negated ? { not: true } : {}) } }
      : null;

/** The schema of an assertion: given as such, as JSON text, or none; null for what is no schema. */
function schemaOf(value: unknown): unknown {
  if (value === undefined || value === null) return {};
  if (typeof value !== 'string') return Array.isArray(value) || typeof value !== 'object' ? null : value;
  try {
    return schemaOf(JSON.parse(value));
  } catch {
    return null; // told as an assertion without a counterpart
  }
}

const positive = (make: (given: Given) => Found | null) => (given: Given) => (given.negated ? null : make(given));

const TYPES: Readonly<Record<string, (given: Given) => Found | null>> = {
  equals: positive(({ value }) => {
    if (value === undefined) return null;
    return typeof value === 'string'
      ? { ref: 'exact_match@1', config: { expected: value, trim: false }, expected: value, caseConfig: { trim: false } }
      : { ref: 'json_schema@1', config: { schema: { const: value } } };
  }),
  contains: contains({}),
  icontains: contains({ ignore_case: true }),
  'contains-all': contains({ all: true }),
  'contains-any': contains({ all: false }),
  'icontains-all': contains({ all: true, ignore_case: true }),
  'icontains-any': contains({ all: false, ignore_case: true }),
  regex: pattern((text) => text),
  'starts-with': pattern((text) => `^${text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')}`),
  'is-json': positive(({ value }) => {
    const schema = schemaOf(value);
    return schema === null ? null : { ref: 'json_schema@1', config: { schema, target: 'text' } };
  }),
  latency: positive(({ threshold }) =>
    typeof threshold === 'number' && threshold > 0 ? { ref: 'latency@1', config: { max_ms: threshold } } : null,
  ),
  cost: positive(({ threshold }) =>
    typeof threshold === 'number' && threshold > 0 ? { ref: 'usage@1', config: { max_cost_usd: threshold } } : null,
  ),
};
