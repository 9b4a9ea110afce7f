import { statSync } from 'node:fs';
import path from 'node:path';
import { type LoadedProject, loadPolicy, loadProject, readyPolicy } from './adapters/project/load-project.ts';
import { openSurroundings } from './adapters/project/surroundings.ts';
import { declaredSources } from './adapters/tools/index.ts';
import { openSchemaCheck } from './adapters/tools/schema-check.ts';
import type { App } from './app.ts';
import { type PolicyDocument, policySchema } from './contract/policy.ts';
import type { Principal } from './contract/principal.ts';
import { kindOfPrincipal } from './contract/principal.ts';
import { ProctorError } from './contract/problem.ts';
import { secretReference } from './contract/secret-reference.ts';
import { compilePolicy, type Policy } from './core/policy/compile.ts';
import { Gateway } from './gateway/gateway.ts';
import { keepGateway, settleLeftovers } from './gateway/keep.ts';
import type { SecretKeeper } from './gateway/ports.ts';
import { thisProcess } from './lib/host.ts';
import { newId } from './lib/id.ts';

/** A gateway of the project, with what serves it. */
export interface GatewayApp extends AsyncDisposable {
  readonly gateway: Gateway;
  readonly loaded: LoadedProject;
  /** The principal of an id with the roles that the project gives it. */
  principal(id: string): Principal;
  /** The policy as it stands now; throws when it cannot be read. */
  policy(): Promise<Policy>;
  /** A policy of another time, compiled, with what its rules need. */
  ready(document: PolicyDocument): Promise<Policy>;
  readonly secrets: SecretKeeper;
}

/** How a gateway is opened. */
export interface GatewayAppOptions {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** A session that is kept alive elsewhere (a worker's); without it the gateway has one of its own. */
  readonly session_id?: string;
  note(text: string): void;
}

/** Where nothing else is said, the person at the terminal is an operator. */
const LOCAL_ROLES = ['operator'];

/** Opens the gateway of the project: sources, policy, principals, and a session under which calls are carried out. */
export async function openGatewayApp(app: App, options: GatewayAppOptions): Promise<GatewayApp> {
  const loaded = await loadProject(app.places.project_dir);
  const { project, base_dir } = loaded;
  const { secrets } = app;
  const allowed = Object.values(project.tools).flatMap((tool) => tool.secrets.map(secretReference));
  secrets.learn([project, allowed]);
  const note = (text: string) => options.note(secrets.text(text));
  const schemas = openSchemaCheck();
  const own = options.session_id === undefined;
  const session_id = options.session_id ?? newId('wse', app.clock.now());
  let session: Promise<void> | null = own ? null : Promise.resolve();
  const opened = () => {
    session ??= app.store.openSession({ session_id, worker: 'gateway', role: 'gateway', ...thisProcess() });
    return session;
  };
  const policy = policyFile(project.policy, base_dir, loaded.present);
  const rolesOf = (id: string): readonly string[] =>
    project.principals.find((one) => one.id === id)?.roles ?? (id === app.principal ? LOCAL_ROLES : []);
  const gateway = new Gateway({
    store: app.store,
    artifacts: app.artifacts,
    clock: app.clock,
    sources: declaredSources(project.tools, {
      base_dir,
      private_dir: path.join(path.dirname(app.places.store), 'private'),
      environment: options.environment,
      resolve: (text) => secrets.resolve(text),
      note,
    }),
    schemas,
    secrets,
    policy,
    rolesOf,
    surroundings: openSurroundings(base_dir, app.clock),
    session_id,
    opened,
    note,
  });
  const stop = new AbortController();
  const deps = { store: app.store, clock: app.clock, session_id };
  await settleLeftovers(deps);
  const kept = keepGateway(deps, {
    signal: stop.signal,
    touch: () => own && session !== null,
    tick: () => gateway.sweep(),
    failed: (error) => note(`the gateway cannot look after the store: ${String(error)}`),
  });
  return {
    gateway,
    loaded,
    policy,
    secrets,
    ready: readyPolicy,
    principal: (id) => ({ id, kind: kindOfPrincipal(id), roles: rolesOf(id) }),
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await kept;
      await gateway.close();
      await schemas[Symbol.asyncDispose]();
      if (own && session !== null) await app.store.closeSession(session_id);
    },
  };
}

/** Reads the policy again whenever its file has changed; while it is broken or gone, it cannot be asked, and everything is denied. */
function policyFile(file: string, base_dir: string, present: boolean): () => Promise<Policy> {
  const absolute = path.resolve(base_dir, file);
  let known: { readonly stamp: string; readonly policy: Promise<Policy> } | null = null;
  return () => {
    const stamp = stampOf(absolute);
    if (known === null || known.stamp !== stamp) known = { stamp, policy: readPolicy(file, base_dir, present) };
    return known.policy;
  };
}

async function readPolicy(file: string, base_dir: string, present: boolean): Promise<Policy> {
  const policy = await loadPolicy(file, base_dir);
  if (policy !== null) return policy;
  if (!present) return compilePolicy(policySchema.parse({ version: 1 }));
  throw new ProctorError(
    'invalid_policy',
    `there is no policy at \`${file}\`, so every call is denied; \`proctor policy init\` writes one to start from`,
  );
}

function stampOf(absolute: string): string {
  try {
    const { ino, size, mtimeNs, ctimeNs } = statSync(absolute, { bigint: true });
    return `${ino} ${size} ${mtimeNs} ${ctimeNs}`;
  } catch (error) {
    return String((error as NodeJS.ErrnoException).code); // what is wrong is told when it is read
  }
}
