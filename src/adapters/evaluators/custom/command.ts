import { extname, resolve } from 'node:path';
import { type EvaluatorInput, type Finding, finding } from '../../../contract/evaluator.ts';
import { diagnostic, ProctorError } from '../../../contract/problem.ts';
import { type ProcessOptions, type ProcessResult, runProcess } from '../../../lib/process.ts';
import { ProcessFamily } from '../../../lib/process-family.ts';
import { openRegular } from '../../../lib/regular-file.ts';
import { commandEnvironment, findProgram, isExecutable } from '../../transport/command-environment.ts';
import { ending } from '../../transport/excerpt.ts';
import { type CustomEvaluator, evaluatorDocument } from './custom-evaluator.ts';
import { type PrintedFinding, printedFinding } from './printed-finding.ts';

const MAX_OUTPUT_BYTES = 1024 * 1024;

/** Who runs a file that is not executable by itself, by its ending. */
const INTERPRETERS: Readonly<Record<string, string>> = {
  '.py': 'python3',
  '.sh': 'sh',
  '.js': process.execPath,
  '.mjs': process.execPath,
  '.cjs': process.execPath,
  '.ts': process.execPath,
};

/** How the outcome of a program is read. */
interface Graded {
  readonly ref: string;
  readonly by: 'finding' | 'exit_code';
  redact(text: string): string;
}

/** The evaluator `command:PATH`: a program that gets the document on stdin and prints a finding; its exit code is the grade only where the profile says so. */
export function commandEvaluator(ref: string): CustomEvaluator {
  const path = ref.slice('command:'.length);
  if (path === '')
    throw new ProctorError('invalid_profile', `the evaluator \`${ref}\` names no program; write \`command:PATH\``);
  return {
    code: [path],
    async open({ base_dir, config, timeout_ms, memory_mb, grade_by, redact, environment }) {
      const env = commandEnvironment(environment);
      const argv = await commandLine(path, base_dir, env);
      const running = new Set<Promise<unknown>>();
      return {
        external: true,
        async evaluate(input, { signal }) {
          const document = `${JSON.stringify(evaluatorDocument(input, config))}\n`;
          const options = {
            cwd: base_dir,
            env: { ...env, ...idVariables(input) },
            stdin: document,
            timeout_ms,
            max_stdout_bytes: MAX_OUTPUT_BYTES,
            signal,
          };
          const run = runFamily(argv, options, memory_mb).finally(() => running.delete(run));
          running.add(run);
          return judged(await run, { ref, by: grade_by, redact });
        },
        async close() {
          await Promise.all(running); // a call that was given up may still be ending its processes
        },
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

/** Codes by which the system says that a program can never be started as it is written. */
const UNUSABLE: ReadonlySet<string> = new Set(['ENOENT', 'EACCES', 'EPERM', 'ENOTDIR', 'ENOEXEC', 'ELOOP']);

/**
 * Runs a program and ends all that it started with it, as far as that can be found out: at its end, so that nothing left behind prints
 * into its output.
 */
async function runFamily(argv: readonly string[], options: ProcessOptions, memory_mb: number): Promise<ProcessResult> {
  const family = new ProcessFamily(memory_mb * 1024 * 1024);
  const env = { ...options.env, ...family.environment };
  let ended: Promise<void> | undefined;
  const on_exit = () => {
    ended = family.end();
  };
  try {
    const result = await runProcess(argv, { ...options, env, on_exit });
    if (!family.overMemory) return result;
    const message = `it took more than ${memory_mb} MB of memory and was killed; set \`memory_mb\` where it needs more`;
    return { ...result, signal: 'SIGKILL', message };
  } finally {
    await (ended ?? family.end());
  }
}

function judged(result: ProcessResult, graded: Graded): Finding {
  const unusable = result.reason === 'spawn_failed' && UNUSABLE.has(result.spawn_code ?? '');
  if (unusable) return finding('error', fault(result, graded, result.message), { fault: 'configuration' });
  if (result.reason !== 'exit' || result.signal !== null) throw new Error(fault(result, graded, result.message));
  const code = result.exit_code ?? 0;
  if (code === 126 || code === 127) {
    // A shell's way to say that a command may not be executed, or is not there.
    const why = `it exited with code ${code}, which says that a command of it cannot be run`;
    return finding('error', fault(result, graded, why), { fault: 'configuration' });
  }
  const printed = printedFinding(result.stdout.toString('utf8'));
  return graded.by === 'exit_code'
    ? byExitCode(result, code, printed, graded)
    : byFinding(result, code, printed, graded);
}

/** A program that prints `passed` and then fails has not passed; one that exits with a code of its own for a failed grade has failed. */
function byFinding(result: ProcessResult, code: number, printed: PrintedFinding, graded: Graded): Finding {
  if (printed.type !== 'finding') {
    const how = code === 0 ? '' : `exited with code ${code} and `;
    throw new Error(`${fault(result, graded, `it ${how}${printed.problem}`)}; ${CURE}`);
  }
  const { status } = printed.finding;
  if (code === 0 || status === 'failed' || status === 'error') return printed.finding;
  throw new Error(fault(result, graded, `it printed \`${status}\` and then exited with code ${code}`));
}

const CURE =
  'print {"status": "passed" | "failed", "score": 0…1, "reason": "…"} last, or set `grade_by: exit_code` where 0 is passed and 1 is failed';

function byExitCode(result: ProcessResult, code: number, printed: PrintedFinding, graded: Graded): Finding {
  if (code > 1) throw new Error(fault(result, graded, `it exited with code ${code}; 0 is passed and 1 is failed`));
  const status = code === 0 ? 'passed' : 'failed';
  if (printed.type === 'finding' && printed.finding.status !== status)
    throw new Error(
      fault(
        result,
        graded,
        `it exited with code ${code} and printed \`${printed.finding.status}\`; leave \`grade_by\` out`,
      ),
    );
  if (code === 0) return finding('passed', null);
  const { stdout, stderr } = said(result, graded);
  return finding('failed', stdout || stderr || 'exit code 1');
}

/** Why there is no grade, with the end of what the program said. */
function fault(result: ProcessResult, graded: Graded, why: string): string {
  const { stdout, stderr } = said(result, graded);
  const quoted = [stdout && `; stdout ends with: ${stdout}`, stderr && `; stderr ends with: ${stderr}`];
  return `\`${graded.ref}\` gave no finding: ${why}${quoted.join('')}`;
}

const SAID_CHARACTERS = 1_024;

/** The ends of both outputs, redacted before they are cut: a secret that the cut went through would be no secret that is known. */
function said(result: ProcessResult, { redact }: Graded): { stdout: string; stderr: string } {
  const end = (text: string) => ending(redact(text.trim().slice(-64 * SAID_CHARACTERS)), SAID_CHARACTERS);
  return { stdout: end(result.stdout.toString('utf8')), stderr: end(result.stderr) };
}

function idVariables(input: EvaluatorInput): Record<string, string> {
  return {
    PROCTOR_RUN_ID: input.run_id,
    PROCTOR_EXECUTION_ID: input.execution_id,
    PROCTOR_ATTEMPT_ID: input.attempt_id,
  };
}
