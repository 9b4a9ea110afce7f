import { execFile } from 'node:child_process';
import { access, appendFile, chown, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';

/** A PostgreSQL of one test's own: its data in a temporary folder, reached by a unix socket in it, stopped and removed with the scope. */
export interface PostgresServer extends AsyncDisposable {
  /** What `postgres --version` says. */
  readonly version: string;
  /** Makes an empty database; answers its name. */
  createDatabase(): Promise<string>;
  /** Opens a connection that ends with the server; bigint arrives as a number. */
  connect(database: string): Promise<pg.Client>;
}

/** What is missing to start a PostgreSQL here, or null. On Debian as root it is installed first. */
export function missingPostgres(): Promise<string | null> {
  missing ??= lookFor();
  return missing;
}

/** Starts a PostgreSQL ≥ 15 with the given settings (fsync is on unless they say otherwise); rejects with what is missing. */
export async function startPostgres(settings: Readonly<Record<string, string>> = {}): Promise<PostgresServer> {
  const lack = await missingPostgres();
  const found = await installed();
  if (lack !== null || found === null) throw new Error(lack ?? 'PostgreSQL went away');
  await using resources = new AsyncDisposableStack();
  const owner = await serverOwner();
  const folder = await mkdtemp(path.join(tmpdir(), 'proctor-pg-'));
  resources.defer(() => rm(folder, { recursive: true, force: true }));
  if (owner) await chown(folder, owner.uid, owner.gid);
  const data = path.join(folder, 'data');
  const log = path.join(folder, 'log');
  const tool = (name: string, ...args: readonly string[]) =>
    run(path.join(found.bin, name), args, {
      ...owner,
      cwd: folder,
      env: { LC_ALL: 'C', PATH: found.bin },
      timeout: 60_000,
    });
  await tool('initdb', '-D', data, '-U', USER, '--auth=trust', '--encoding=UTF8', '--no-locale', '--no-sync');
  const all = { listen_addresses: '', unix_socket_directories: folder, max_connections: '100', ...settings };
  const lines = Object.entries(all).map(([name, value]) => `${name} = '${value}'\n`);
  await appendFile(path.join(data, 'postgresql.conf'), lines.join(''));
  resources.defer(async () => {
    await tool('pg_ctl', 'stop', '-D', data, '-m', 'immediate', '-w');
  });
  try {
    await tool('pg_ctl', 'start', '-D', data, '-l', log, '-w', '-t', '30');
  } catch (error) {
    throw new Error(`PostgreSQL did not start: ${await readFile(log, 'utf8').catch(() => 'it wrote no log')}`, {
      cause: error,
    });
  }
  const clients = resources.use(new AsyncDisposableStack());
  const connect = async (database: string): Promise<pg.Client> => {
    const client = new pg.Client({ host: folder, port: 5432, user: USER, database, types: { getTypeParser } });
    await client.connect();
    clients.defer(() => client.end());
    return client;
  };
  const admin = await connect('postgres');
  let databases = 0;
  const createDatabase = async () => {
    databases += 1;
    const name = `test_${databases}`;
    await admin.query(`create database ${name}`);
    return name;
  };
  const kept = resources.move();
  return { version: found.version, createDatabase, connect, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

const USER = 'proctor';
const BIGINT = 20; // type oid
const run = promisify(execFile);
let missing: Promise<string | null> | undefined;

const getTypeParser: typeof pg.types.getTypeParser = (oid: number, format?: 'text' | 'binary') =>
  oid === BIGINT ? Number : pg.types.getTypeParser(oid, format as 'text');

async function lookFor(): Promise<string | null> {
  if ((await installed()) !== null) return null;
  const lack = 'PostgreSQL ≥ 15 is missing (`initdb`, `pg_ctl` and `postgres` in /usr/lib/postgresql/*/bin or on PATH)';
  const debian = await access('/etc/debian_version').then(
    () => true,
    () => false,
  );
  if (!debian || process.getuid?.() !== 0) return lack;
  try {
    const options = { env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }, timeout: 240_000 };
    await run('apt-get', ['update', '-q'], options);
    await run(
      'apt-get',
      ['install', '-q', '-y', '--no-install-recommends', '-o', 'DPkg::Lock::Timeout=120', 'postgresql'],
      options,
    );
  } catch (error) {
    return `${lack}; \`apt-get install postgresql\` failed: ${error instanceof Error ? error.message : String(error)}`;
  }
  return (await installed()) === null ? `${lack}; \`apt-get install postgresql\` brought an older one` : null;
}

/** The newest PostgreSQL ≥ 15 of this machine. */
async function installed(): Promise<{ bin: string; version: string } | null> {
  const debian = '/usr/lib/postgresql';
  const versions = await readdir(debian).catch(() => []);
  const folders = [
    ...versions.map((name) => path.join(debian, name, 'bin')),
    ...(process.env['PATH'] ?? '').split(path.delimiter),
  ];
  const found: { bin: string; version: string; major: number }[] = [];
  for (const bin of folders) {
    const needed = ['postgres', 'initdb', 'pg_ctl'].map((name) => access(path.join(bin, name)));
    if ((await Promise.allSettled(needed)).some(({ status }) => status === 'rejected')) continue;
    const { stdout } = await run(path.join(bin, 'postgres'), ['--version']);
    const major = Number(/\(PostgreSQL\) (\d+)/.exec(stdout)?.[1]);
    if (major >= 15) found.push({ bin, version: stdout.trim(), major });
  }
  return found.sort((a, b) => b.major - a.major)[0] ?? null;
}

/** Whom the server runs as: PostgreSQL refuses to run as root. */
async function serverOwner(): Promise<{ uid: number; gid: number } | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const users = (await readFile('/etc/passwd', 'utf8')).split('\n').map((line) => line.split(':'));
  const user = users.find(([name]) => name === 'postgres') ?? users.find(([name]) => name === 'nobody');
  if (user === undefined) throw new Error('as root PostgreSQL needs another user to run as: add a user `postgres`');
  return { uid: Number(user[2]), gid: Number(user[3]) };
}
