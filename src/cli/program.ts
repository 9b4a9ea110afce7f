import { Command, CommanderError, type OutputConfiguration } from 'commander';
import { lookupIn } from '../config.ts';
import { ProctorError } from '../contract/problem.ts';
import { Secrets } from '../core/redaction/secrets.ts';
import type { CommandContext, Command as Run } from './context.ts';
import { gatewayCommands } from './gateway-commands.ts';
import { notWritten } from './not-written.ts';
import { collect, fraction, positive, root, runKey, share, whole } from './option-values.ts';
import { openOutput, reportError } from './output.ts';
import { VERSION } from './version.ts';

/** What a command line runs in: folder, environment and streams. */
export interface CliOptions {
  readonly cwd: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
}

/** Runs one command line; answers its exit code. Commands are loaded when they are called. */
export async function runCli(argv: readonly string[], options: CliOptions): Promise<number> {
  const secrets = new Secrets(lookupIn(options.environment));
  const output = openOutput(argv.includes('--json'), options, secrets);
  secrets.warned((text) => output.note(`proctor: ${text}`));
  let code = 0;
  const context: CommandContext = {
    cwd: options.cwd,
    environment: options.environment,
    output,
    secrets,
    openApp: async ({ writes = false, ...how } = {}) => {
      const app = await (await import('../app.ts')).createApp({ ...options, secrets, ...how });
      if (app.read_only && !writes)
        output.note(`proctor: \`${app.places.store}\` can only be read here; what is shown is what the file holds`);
      return app;
    },
  };
  const streams = {
    writeOut: (text: string) => void options.stdout.write(text),
    writeErr: (text: string) => void options.stderr.write(output.json ? '' : text),
  };
  const program = buildProgram(streams, (load) => async (settings) => {
    code = await (await load())(context, settings);
  });
  try {
    await program.parseAsync([...argv], { from: 'user' });
    return code;
  } catch (error) {
    if (error instanceof CommanderError) {
      if (error.exitCode === 0) return 0;
      return output.json ? reportError(new ProctorError('usage', error.message.replace(/^error: /, '')), output) : 2;
    }
    return reportError(notWritten(error), output);
  }
}

/** Makes a command of the program. */
export type MakeCommand = (usage: string, description: string) => Command;
/** Gives a command its work, loaded when it is called; `names` are its positional arguments. */
export type GiveWork = <Options>(
  created: Command,
  load: () => Promise<Run<Options>>,
  names?: readonly string[],
) => void;

type Action = <Options>(load: () => Promise<Run<Options>>) => (settings: Options) => Promise<void>;

function buildProgram(streams: OutputConfiguration, action: Action): Command {
  const program = new Command('proctor')
    .description(
      'Examines AI agents: durable evaluation runs, a gate with statistics, and a verdict that can be checked.',
    )
    .version(VERSION)
    .showHelpAfterError('(proctor COMMAND --help says more)')
    .configureOutput(streams) // before the commands, which take it over
    .exitOverride()
    .helpCommand(false);
  const command: MakeCommand = (usage, description) => {
    const created = program
      .command(usage)
      .description(description)
      .option('--json', 'one JSON document on stdout (JSON lines for lists)');
    return created;
  };
  const on = <Options>(created: Command, load: () => Promise<Run<Options>>, names: readonly string[] = []) => {
    created.action(async (...values: unknown[]) => {
      const positional = Object.fromEntries(names.map((name, index) => [name, values[index]]));
      await action(load)({ ...created.opts(), ...positional } as Options);
    });
  };

  on(
    command('demo', 'a flaky agent on loopback, several workers, one killed on the way, a verdict, and its check'),
    async () => (await import('./commands/demo.ts')).demo,
  );
  on(
    command('init [folder]', 'write a profile, a dataset and an agent to start from').option(
      '--force',
      'write over files that exist',
    ),
    async () => (await import('./commands/init.ts')).init,
    ['folder'],
  );
  on(
    command(
      'import <format> <file>',
      'promptfoo: a configuration as a profile and a dataset; exit 1 when something was left out',
    )
      .option('--out <folder>', 'where to write them; `imported` unless said')
      .option('--force', 'write over files that exist'),
    async () => (await import('./commands/import.ts')).importFile,
    ['format', 'file'],
  );
  on(
    selecting(command('check <profile>', 'validate profile and dataset without running')).option(
      '--probe',
      'also try the agent on one case, an oracle that must pass, a no-op that must fail, and wrong answers on every evaluator',
    ),
    async () => (await import('./commands/check.ts')).check,
    ['profile'],
  );
  on(
    working(selecting(command('run <profile>', 'run the agent over the dataset and decide the gate')))
      .option('--run-key <key>', 'create at most once: attach to or resume the run of this key', runKey)
      .option('--failed-of <run>', 'only the cases that did not pass in that run')
      .option('--plan', 'only tell what the run is expected to take; nothing is created')
      .option('--detach', 'create the run and leave it to workers'),
    async () => (await import('./commands/run.ts')).run,
    ['profile'],
  );
  on(
    working(command('resume <run>', 'go on with a run that was interrupted')),
    async () => (await import('./commands/resume.ts')).resume,
    ['run'],
  );
  on(
    working(
      command('regrade <run>', 'a new run over the kept answers of a completed one; nobody is asked again'),
    ).option('--profile <profile>', 'with the groups, evaluators and gate of this profile'),
    async () => (await import('./commands/regrade.ts')).regrade,
    ['run'],
  );
  on(
    command('correct <run> <case>', 'a grade corrected by hand, as a new record; the run’s own verdict stays')
      .requiredOption('--status <status>', 'passed or failed')
      .requiredOption('--reason <text>', 'why; it stays on record with your name')
      .option('--score <score>', 'the score, from 0 to 1', fraction)
      .option('--evaluator <n>', 'whose grade, by its place from 0, where there are several', whole)
      .option('--repeat <n>', 'which repeat of the case', positive, 1),
    async () => (await import('./commands/correct.ts')).correct,
    ['run', 'case'],
  );
  on(
    command('cancel <run>', 'cancel a run').option('--reason <text>', 'why', 'cancelled by hand'),
    async () => (await import('./commands/cancel.ts')).cancel,
    ['run'],
  );
  on(
    command('runs', 'list runs, newest first')
      .option('--limit <n>', 'at most so many', positive, 20)
      .option('--after <run>', 'the page after this run'),
    async () => (await import('./commands/runs.ts')).runs,
  );
  on(
    command('show <run>', 'one run: verdict, scores, failing cases')
      .option('--executions', 'every execution, a line each')
      .option('--failed', 'with --executions: only those that did not pass')
      .option(
        '--severity <level>',
        'with --executions: only those with a failure as bad as low, medium, high or critical',
      )
      .option('--case <id>', 'one case whole: input, output, findings, tool runs, usage and every attempt')
      .option('--repeat <n>', 'with --case: only this repeat', positive)
      .option('--full', 'with --case: long parts uncut')
      .option('--verdict', 'the verdict as it was decided: canonical JSON, the same bytes for the same verdict')
      .option('--gate', 'exit by the gate')
      .option('--revision <n>', 'by this revision of the verdict instead of the last; 0 is the run’s own', whole),
    async () => (await import('./commands/show.ts')).show,
    ['run'],
  );
  on(
    command('compare <baseline> <candidate>', 'two runs paired case by case; exit 1 when the second is a regression')
      .option('--alpha <p>', 'a two-sided p-value below it is a difference', share)
      .option('--max-regressions <n>', 'more regressed cases are a regression whatever the test says', whole)
      .option('--baseline-revision <n>', 'the baseline by this revision instead of the last; 0 is the run’s own', whole)
      .option('--candidate-revision <n>', 'the candidate by this revision', whole)
      .option(
        '--min-cases <n>',
        'refuse to compare fewer paired cases; default: all of the baseline, less allowed faults',
        whole,
      )
      .option('--any-grading', 'compare runs that were graded by different evaluators or rules too'),
    async () => (await import('./commands/compare.ts')).compare,
    ['baseline', 'candidate'],
  );
  on(
    command('calibrate <profile>', 'how far the profile’s judge agrees with what people gave')
      .requiredOption('--set <file>', 'JSON lines with input, answer, score (0 to 1), and expected or context')
      .option('--dimension <name>', 'the evaluator of this dimension, instead of the judge')
      .option('--least-alpha <alpha>', 'exit 1 when Krippendorff’s alpha is below it', fraction),
    async () => (await import('./commands/calibrate.ts')).calibrate,
    ['profile'],
  );
  on(
    command('bless <run>', 'make a run the baseline that the gate of its profile compares with'),
    async () => (await import('./commands/bless.ts')).bless,
    ['run'],
  );
  on(
    command('watch <run>', 'follow a run that other processes work on').option('--events', 'stream its events'),
    async () => (await import('./commands/watch.ts')).watch,
    ['run'],
  );
  on(
    command('verify <run>', 'recompute chains, statistics and gate of a run, or of the bundle in a file')
      .option('--expect <root>', 'a root noted elsewhere: the evidence root, or that of a revision', root)
      .option('--key <file>', 'the Ed25519 public key (PEM) that must have signed the bundle'),
    async () => (await import('./commands/verify.ts')).verify,
    ['run'],
  );
  on(
    command('export <run>', 'a run for CI, spreadsheets, people, or another machine')
      .requiredOption('--format <format>', 'junit, jsonl, csv, html, annotations or bundle')
      .option('--out <path>', 'the file to write; without it the text goes to stdout')
      .option('--sign <file>', 'sign the bundle with this Ed25519 private key (PEM)')
      .option('--revision <n>', 'by this revision of the verdict instead of the last; 0 is the run’s own', whole),
    async () => (await import('./commands/export.ts')).exportRun,
    ['run'],
  );
  on(
    command(
      'webhooks <action> [profile]',
      'list, replay or deliver what is told to endpoints; test a profile’s endpoints',
    )
      .option('--run <run>', 'list, replay: only of this run')
      .option('--status <status>', 'list: pending, published, failed or dead')
      .option('--endpoint <url>', 'list, replay: only to this endpoint')
      .option('--limit <n>', 'list: at most so many', positive, 50)
      .option('--watch', 'deliver: go on with what falls due, until stopped'),
    async () => (await import('./commands/webhooks.ts')).webhooks,
    ['action', 'profile'],
  );
  gatewayCommands(command, on);
  on(
    command('worker', 'join: work on runs of this store until stopped')
      .option('--run <run>', 'only this run, and end with it; may be given several times', collect)
      .option('--concurrency <n>', 'executions at once in this process', positive)
      .option('--name <name>', 'the worker’s name')
      .option('--lease-ms <ms>', 'lease time', positive, 30_000)
      .option('--drain-ms <ms>', 'time for attempts in flight when stopping', whole, 30_000)
      .option('--base-dir <folder>', 'where the profile’s code is on this machine')
      .option('--quiet', 'no line about a run that was stopped; the exit code tells'),
    async () => (await import('./commands/worker.ts')).worker,
  );
  on(
    command('schema [name]', 'print a JSON Schema: profile, dataset, envelope, run_document, …'),
    async () => (await import('./commands/schema.ts')).schema,
    ['name'],
  );
  on(
    command('doctor', 'check this machine and the store')
      .option('--verify', 'check every invariant of the store')
      .option('--backup <file>', 'write a consistent copy of the store'),
    async () => (await import('./commands/doctor.ts')).doctor,
  );
  return program;
}

function selecting(command: Command): Command {
  return command
    .option('--dataset <path>', 'the dataset, instead of the profile’s')
    .option('--case <id>', 'only this case; may be given several times', collect)
    .option('--tag <tag>', 'only cases with this tag; may be given several times', collect)
    .option('--limit <n>', 'only the first so many', positive);
}

function working(command: Command): Command {
  return command
    .option('--concurrency <n>', 'executions at once, over all workers, instead of the profile’s', positive)
    .option('--workers <n>', 'worker processes to start', whole, 0)
    .option('--lease-ms <ms>', 'lease time', positive, 30_000)
    .option('--drain-ms <ms>', 'time for attempts in flight when stopping', whole, 30_000)
    .option('--quiet', 'no progress');
}
