import { extname, resolve } from 'node:path';
import { type EvaluatorInput, type Finding, finding } from '../../../contract/evaluator.ts';
import { diagnostic, ProctorError } from '../../../contract/problem.ts';
import { type ProcessResult, runProcess } from '../../../lib/process.ts';
import { openRegular } from '../../../lib/regular-file.ts';
import { commandEnvironment, findProgram, isExecutable } from '../../transport/command-environment.ts';
import { ending } from '../../transport/excerpt.ts';
import { type CustomEvaluator, evaluatorDocument, parseFinding } from './custom-evaluator.ts';

const MAX_FINDING_BYTES = 1024 * 1024;

/** Who runs a file that is not executable by itself, by its ending. */
const INTERPRETERS: Readonly<Record<string, string>> = {
  '.py': 'python3',
  '.sh': 'sh',
  '.js': process.execPath,
  '.mjs': process.execPath,
  '.cjs': process.execPath,
  '.ts': process.execPath,
};

/** The evaluator `command:PATH`: a program that gets the document on stdin and prints a finding, or tells by its exit code (0 passed, 1 failed). */
export function commandEvaluator(ref: string): CustomEvaluator {
  const path = ref.slice('command:'.length);
  if (path === '')
    throw new ProctorError('invalid_profile', `the evaluator \`${ref}\` names no program; write \`command:PATH\``);
  return {
    code: [path],
    async open({ base_dir, config, timeout_ms, redact, environment }) {
      const env = commandEnvironment(environment);
      const argv = await commandLine(path, base_dir, env);
      return {
        external: true,
        async evaluate(input, { signal }) {
          const document = `${JSON.stringify(evaluatorDocument(input, config))}\n`;
          const options = {
            cwd: base_dir,
            env: { ...env, ...idVariables(input) },
            stdin: document,
            timeout_ms,
            max_stdout_bytes: MAX_FINDING_BYTES,
            signal,
          };
          return judged(await runProcess(argv, options), ref, redact);
        },
        close: async () => undefined,
      };
    },
  };
}

async function commandLine(path: string, folder: string, env: Record<string, string>): Promise<readonly string[]> {
  const file = resolve(folder, path);
  const unusable = (message: string, hint: string) =>
    new ProctorError('invalid_profile', `the evaluator \`command:${path}\` ${message}; ${hint}`, {
      diagnostics: [diagnostic(message, { file: path, hint })],
    });
  await openRegular(file).then(
    (handle) => handle.close(),
    (error: Error) => {
      throw unusable(error.message, 'the path starts from the profile');
    },
  );
  const interpreter = INTERPRETERS[extname(path).toLowerCase()];
  if (interpreter === undefined) {
    if (await isExecutable(file)) return [file];
    throw unusable('may not be executed', 'set its executable bit, or give it the ending .py, .sh, .js, .mjs or .ts');
  }
  const program = await findProgram(interpreter, folder, env);
  if (program === null) throw unusable(`needs \`${interpreter}\`, which cannot be found`, 'install it');
  return [program, file];
}

function judged(result: ProcessResult, ref: string, redact: (text: string) => string): Finding {
  const stderr = redact(result.stderr.trim());
  if (result.reason !== 'exit' || result.signal !== null)
    throw new Error(`\`${ref}\` gave no finding: ${result.message}${tailOf(stderr)}`);
  const stdout = result.stdout.toString('utf8').trim();
  if (stdout.startsWith('{')) return parseFinding(parsedJson(stdout, ref), ref);
  if (result.exit_code === 0) return finding('passed', null);
  const said = ending(stdout === '' ? stderr : redact(stdout), 1_024);
  if (result.exit_code === 1) return finding('failed', said === '' ? 'exit code 1' : said);
  throw new Error(`\`${ref}\` exited with code ${result.exit_code}; 0 is passed and 1 is failed${tailOf(stderr)}`);
}

function parsedJson(text: string, ref: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`\`${ref}\` printed something that starts like JSON and is not: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

function tailOf(text: string): string {
  return text === '' ? '' : `: ${ending(text, 1_024)}`;
}

function idVariables(input: EvaluatorInput): Record<string, string> {
  return {
    PROCTOR_RUN_ID: input.run_id,
    PROCTOR_EXECUTION_ID: input.execution_id,
    PROCTOR_ATTEMPT_ID: input.attempt_id,
  };
}
