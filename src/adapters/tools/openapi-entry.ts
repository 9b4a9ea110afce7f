import { globMatches } from '../../lib/glob.ts';
import { type PatternCompiler, patternCompiler } from '../evaluators/parts/linear-pattern.ts';
import { type CompiledDocument, type OperationTool, Unusable } from './openapi-binding.ts';
import { operationNames } from './openapi-names.ts';
import { foundOperations, operationTool, type Workshop } from './openapi-operations.ts';
import type { Supplied } from './openapi-parameters.ts';
import { SchemaTranslator } from './openapi-schema.ts';
import type { Whereabouts } from './openapi-server.ts';
import { readOpenapi } from './openapi-text.ts';

/** A document's text, and what the operator says of it. */
export interface CompileRequest {
  readonly text: string;
  readonly where: Whereabouts;
  readonly supplied: Supplied;
  readonly operations: readonly string[] | null;
  readonly check_output: boolean;
}

const MOST_TOOLS = 1_000;
const MOST_CHARACTERS = 16 * 1024 * 1024;
const MOST_REFUSED = 100;

/** Runs in a thread that is ended when a document takes too long: makes the tools of its operations. Throws when it is none. */
export async function compile(request: CompileRequest): Promise<CompiledDocument> {
  const document = await readOpenapi(request.text);
  const { operations, refused } = foundOperations(document.root);
  // The matcher is large; most documents have no patterns.
  const patterns = request.text.includes('pattern') ? patternCheck(await patternCompiler()) : () => false;
  const shop: Workshop = {
    root: document.root,
    where: request.where,
    supplied: request.supplied,
    requests: new SchemaTranslator(document, 'request', patterns),
    responses: new SchemaTranslator(document, 'response', patterns),
    check_output: request.check_output,
  };
  const names = operationNames(operations);
  const wanted = operations
    .map((operation, index) => ({ operation, name: names[index] ?? '' }))
    .filter(({ name }) => request.operations === null || request.operations.some((glob) => globMatches(glob, name)));
  const tools: OperationTool[] = [];
  let characters = 0;
  for (const { operation, name } of wanted) {
    if (tools.length === MOST_TOOLS || characters > MOST_CHARACTERS) {
      refused.push({
        name: '…',
        reason: `the document has ${wanted.length} operations, more than can be tools at once; \`operations\` chooses`,
      });
      break;
    }
    try {
      const tool = operationTool(name, operation, shop);
      characters += JSON.stringify(tool).length;
      tools.push(tool);
    } catch (error) {
      if (!(error instanceof Unusable)) throw error;
      refused.push({ name, reason: error.message });
    }
  }
  const [first] = refused;
  if (first !== undefined && tools.length === 0 && refused.every(({ reason }) => reason === first.reason))
    throw new Unusable(`has no operation that can be a tool: ${first.reason}`);
  return { tools, refused: shortened(refused) };
}

function shortened(refused: CompiledDocument['refused']): CompiledDocument['refused'] {
  const left = refused.length - MOST_REFUSED;
  if (left <= 0) return refused;
  return [{ name: '…', reason: `${left} more operations cannot be tools` }, ...refused.slice(-MOST_REFUSED)];
}

/** A pattern that RE2 cannot match (look-ahead, back references) is left to the server. */
function patternCheck(compilePattern: PatternCompiler): (pattern: string) => boolean {
  const known = new Map<string, boolean>();
  return (pattern) => {
    let fit = known.get(pattern);
    if (fit === undefined) {
      try {
        compilePattern(pattern, '', 'pattern');
        fit = true;
      } catch {
        fit = false; // that it cannot be matched is what was asked
      }
      known.set(pattern, fit);
    }
    return fit;
  };
}
