import path from 'node:path';
import { type PolicyDocument, policySchema } from '../../contract/policy.ts';
import { diagnostic } from '../../contract/problem.ts';
import { type Project, projectSchema } from '../../contract/project.ts';
import { isSecretReference } from '../../contract/secret-reference.ts';
import { compilePolicy, type Policy } from '../../core/policy/compile.ts';
import { type KnownTool, policyProblems } from '../../core/policy/problems.ts';
import { loadSql } from '../sql/index.ts';
import { sourceProblems } from '../tools/index.ts';
import { invalid, readProjectFile } from './read-file.ts';

/** The project file as read, or the empty project where there is none. */
export interface LoadedProject {
  readonly project: Project;
  /** Folder that its paths start from. */
  readonly base_dir: string;
  /** False where there is no file. */
  readonly present: boolean;
}

/** The name of the project file. */
const PROJECT_FILE = 'proctor.yaml';

/** Reads `proctor.yaml` of a folder; `invalid_project` lists every problem. */
export async function loadProject(folder: string): Promise<LoadedProject> {
  const read = await readProjectFile(path.join(folder, PROJECT_FILE), PROJECT_FILE, projectSchema, 'invalid_project');
  if (read === null) return { project: projectSchema.parse({ version: 1 }), base_dir: folder, present: false };
  const { principals, tools, local_commands } = read.value;
  const twice = principals.flatMap(({ id }, index) =>
    principals.findIndex((other) => other.id === id) < index
      ? [diagnostic(`duplicate principal \`${id}\``, { field: `principals[${index}].id` })]
      : [],
  );
  const literal = principals.flatMap(({ token }, index) =>
    token !== undefined && !isSecretReference(token)
      ? [diagnostic(`a token is written as \${secret:NAME}, never as itself`, { field: `principals[${index}].token` })]
      : [],
  );
  const problems = [...twice, ...literal, ...sourceProblems(tools, local_commands)];
  if (problems.length > 0) throw invalid(PROJECT_FILE, 'invalid_project', read.locate(problems));
  return { project: read.value, base_dir: folder, present: true };
}

/** A policy as read: compiled, or null where there is no file. */
export async function loadPolicy(
  file: string,
  cwd: string,
  known: readonly KnownTool[] | null = null,
  sources: readonly string[] | null = null,
): Promise<Policy | null> {
  const read = await readProjectFile(path.resolve(cwd, file), file, policySchema, 'invalid_policy');
  if (read === null) return null;
  const problems = policyProblems(read.value, known, sources);
  if (problems.length > 0) throw invalid(file, 'invalid_policy', read.locate(problems));
  return await readyPolicy(read.value);
}

/** A policy compiled, with what its rules need loaded. */
export async function readyPolicy(document: PolicyDocument): Promise<Policy> {
  const policy = compilePolicy(document);
  if (policy.asks_sql) await loadSql();
  return policy;
}
