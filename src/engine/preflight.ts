import type { Plugins } from '../contract/ports.ts';
import { diagnostic, ProctorError } from '../contract/problem.ts';
import type { Profile } from '../contract/profile.ts';

/**
 * What keeps this machine from serving the profile: the agent and every evaluator are opened and closed again, so that a
 * secret that is not set or a program that is not there is told before a run exists. Modules are loaded, but nothing in them is called.
 */
export async function preflight(plugins: Plugins, profile: Profile, baseDir: string): Promise<ProctorError[]> {
  plugins.learn(profile);
  const options = { base_dir: baseDir, concurrency: 1 };
  const parts = [
    ['agent', () => plugins.openAgent(profile, options)] as const,
    ...profile.case_groups.flatMap((group, at) =>
      group.evaluators.map(
        (reference, index) =>
          [`case_groups[${at}].evaluators[${index}]`, () => plugins.openEvaluator(reference, options)] as const,
      ),
    ),
  ];
  const problems: ProctorError[] = [];
  for (const [field, open] of parts) {
    try {
      await (await open()).close();
    } catch (error) {
      if (!ProctorError.is(error)) throw error;
      const { code, message, diagnostics } = error;
      const told = diagnostics.length > 0 ? diagnostics : [diagnostic(message, { field })];
      problems.push(new ProctorError(code, message, { cause: error, diagnostics: told }));
    }
  }
  return problems;
}
