import { createPrivateKey, createPublicKey, hash, type KeyObject, sign, verify } from 'node:crypto';
import type { ArtifactStore } from '../contract/artifact.ts';
import type { BundleSeal, BundleStatement, OpenBundle } from '../contract/bundle.ts';
import { ProctorError } from '../contract/problem.ts';
import type { CorrectionRow, RunReaders, RunRow } from '../contract/store.ts';
import { revisionRoots } from '../core/evidence.ts';
import type { Verdict } from '../core/verdict.ts';
import { canonicalJson, digest } from '../lib/canonical-json.ts';
import { type Difference, Differences } from './verify/differences.ts';
import { type Verification, verifyRun } from './verify/verify-run.ts';

/** What a bundle of a run holds besides its rows. */
export interface SealedRun {
  /** The statement over a file whose bytes before it have this SHA-256, signed where there is a key. */
  seal(file: string): BundleSeal;
  /** Names of the artifacts that its evidence refers to, in order. */
  readonly artifacts: readonly string[];
}

/**
 * Verifies an ended run and seals it: what verification read is what the bundle has to hold, so nothing is forgotten and nothing else
 * gets in. A run that does not verify is not handed on. `key` is an Ed25519 private key in PEM.
 */
export async function sealRun(
  deps: { readonly store: RunReaders; readonly artifacts: ArtifactStore },
  run: RunRow,
  key: string | null,
): Promise<SealedRun> {
  const read = new Set<string>();
  const artifacts: ArtifactStore = {
    ...deps.artifacts,
    get: async (name, recorded) => {
      const body = await deps.artifacts.get(name, recorded);
      read.add(name);
      return body;
    },
  };
  const verification = await verifyRun({ store: deps.store, artifacts }, run, null);
  if (!verification.ok) {
    const [first] = verification.found;
    throw new ProctorError(
      'store_altered',
      `${run.run_id} differs from its evidence, so it is not exported; the first difference: ${first?.where} ${first?.row}: ${first?.what}; \`proctor verify ${run.run_id}\` names them all (${verification.differences})`,
    );
  }
  const names = [...read].sort();
  const corrections = await deps.store.corrections(run.run_id);
  const secret = key === null ? null : ed25519(() => createPrivateKey(key), 'private');
  const seal = (file: string) => {
    const statement = canonicalJson({ ...statementOf(run, names, corrections), format: 'proctor/bundle/2', file });
    return { statement, ...signed(statement, secret) };
  };
  return { seal, artifacts: names };
}

function statementOf(
  run: RunRow,
  artifacts: readonly string[],
  corrections: readonly CorrectionRow[],
): BundleStatement {
  const last = corrections.at(-1);
  const { run_id, status, gate_status, snapshot_digest, content_digest, evidence_root, finished_at } = run;
  return {
    format: 'proctor/bundle/1',
    run_id,
    status,
    gate_status,
    snapshot_digest,
    content_digest,
    evidence_root,
    finished_at,
    revision: corrections.length,
    correction: last?.hash ?? null,
    effective_gate_status: last === undefined ? gate_status : (JSON.parse(last.verdict) as Verdict).gate_status,
    revision_root: revisionRoots(run, corrections).at(-1) ?? null,
    artifacts: digest('proctor/artifacts/1', artifacts),
  };
}

function signed(statement: string, secret: KeyObject | null): { signature: string | null; public_key: string | null } {
  if (secret === null) return { signature: null, public_key: null };
  return {
    signature: sign(null, signedBytes(2, statement), secret).toString('base64'),
    public_key: createPublicKey(secret).export({ type: 'spki', format: 'pem' }).toString(),
  };
}

function signedBytes(format: number, statement: string): Buffer {
  return Buffer.from(`proctor/bundle/${format}\n${statement}`);
}

function ed25519(read: () => KeyObject, kind: 'private' | 'public'): KeyObject {
  const wanted = `an Ed25519 ${kind} key in PEM (\`openssl genpkey -algorithm ed25519\` makes one)`;
  let key: KeyObject;
  try {
    key = read();
  } catch (error) {
    throw new ProctorError('invalid_input', `the key cannot be read; it must be ${wanted}`, { cause: error });
  }
  if (key.asymmetricKeyType === 'ed25519') return key;
  throw new ProctorError('invalid_input', `the key is ${key.asymmetricKeyType}; it must be ${wanted}`);
}

/** What `verify` found in a bundle. */
export interface BundleVerification extends Verification {
  /** `none`: not signed; `self`: signed, by a key that only the bundle names; `known`: by the key that was given. */
  readonly signature: 'none' | 'self' | 'known';
  /** 1: a bundle of an older Proctor, whose spare bytes nothing covers; 2: every byte is covered. */
  readonly format: 1 | 2;
  /** SHA-256 of the public key (SPKI, DER), in hex; null without a signature. */
  readonly key_fingerprint: string | null;
}

/**
 * Verifies a bundle on a machine that has nothing but the file: the file itself, every artifact, the run as in a store, that the
 * statement says what the run came to, and the signature. `key` is the Ed25519 public key (PEM) that must have signed.
 */
export async function verifyBundle(
  bundle: OpenBundle,
  expect: string | null,
  key: string | null,
): Promise<BundleVerification> {
  const wanted = key === null ? null : ed25519(() => createPublicKey(key), 'public'); // a key that is none is not the bundle's fault
  const differences = new Differences();
  const [run_id] = bundle.run_ids;
  differences.same('bundle', 'file', 'runs inside', 1, bundle.run_ids.length);
  const run = run_id === undefined ? null : await differences.step('run', run_id, () => bundle.store.run(run_id));
  if (run === null) throw new ProctorError('store_altered', 'the bundle holds no run that can be read');
  const { verification, read } = await verifiedRun(bundle, run, expect);
  if (!verification.stopped)
    await differences.step('bundle', 'file', async () => {
      for (const problem of await bundle.problems()) differences.add('bundle', 'file', problem);
    });
  const names = bundle.artifactNames();
  // What nothing refers to would be carried along unseen.
  if (bundle.format === 2 && verification.ok)
    for (const name of names.filter((one) => !read.has(one)))
      differences.add('artifact', name, 'no evidence refers to it');
  const corrections =
    (await differences.step('correction', run.run_id, () => bundle.store.corrections(run.run_id))) ?? [];
  // Those that the verification read are verified.
  for (const name of names.filter((one) => !read.has(one)))
    await differences.step('artifact', name, () => bundle.artifacts.get(name));
  const [seal] = bundle.seals;
  differences.same('bundle', 'file', 'statements inside', 1, bundle.seals.length);
  const checked =
    seal === undefined
      ? { signature: 'none' as const, key_fingerprint: null }
      : ((await differences.step('bundle', 'statement', () =>
          checkSeal(bundle, seal, { run, names, corrections, wanted }, differences),
        )) ?? {
          signature: 'none' as const,
          key_fingerprint: null,
        });
  const found: Difference[] = [...differences.list, ...verification.found];
  return {
    ...verification,
    format: bundle.format,
    ...checked,
    ok: verification.ok && differences.count === 0,
    differences: verification.differences + differences.count,
    found,
  };
}

/** Verifies the run, and knows which artifacts that took. */
async function verifiedRun({ store, artifacts }: OpenBundle, run: RunRow, expect: string | null) {
  const read = new Set<string>();
  const noted: ArtifactStore = {
    ...artifacts,
    get: async (name, recorded) => {
      const bytes = await artifacts.get(name, recorded);
      read.add(name);
      return bytes;
    },
  };
  return { verification: await verifyRun({ store, artifacts: noted }, run, expect), read };
}

interface Sealed {
  readonly run: RunRow;
  readonly names: readonly string[];
  readonly corrections: readonly CorrectionRow[];
  readonly wanted: KeyObject | null;
}

function checkSeal(
  bundle: OpenBundle,
  seal: BundleSeal,
  { run, names, corrections, wanted }: Sealed,
  differences: Differences,
): Pick<BundleVerification, 'signature' | 'key_fingerprint'> {
  const said = JSON.parse(seal.statement) as Readonly<Record<string, unknown>>;
  const { revision_root, ...before } = statementOf(run, names, corrections);
  const now = { ...before, revision_root, format: 'proctor/bundle/2', file: bundle.file_digest };
  // In format 1 the roots of revisions came later; they follow from the other fields.
  const expected = bundle.format === 2 ? now : 'revision_root' in said ? { ...before, revision_root } : before;
  for (const [field, value] of Object.entries(expected))
    differences.same('bundle', 'statement', field, value, said[field]);
  differences.same('bundle', 'statement', 'canonical form', canonicalJson(expected), seal.statement);
  if (seal.signature === null || seal.public_key === null) {
    if (wanted !== null) differences.add('bundle', 'signature', 'the bundle is not signed, and a key was given');
    differences.same('bundle', 'signature', 'signature and key come together', seal.signature, seal.public_key);
    return { signature: 'none', key_fingerprint: null };
  }
  const own = ed25519(() => createPublicKey(seal.public_key ?? ''), 'public');
  const key_fingerprint = fingerprint(own);
  if (wanted !== null)
    differences.same('bundle', 'signature', 'signed by the key given', fingerprint(wanted), key_fingerprint);
  const bytes = Buffer.from(seal.signature, 'base64');
  differences.same('bundle', 'signature', 'the form of the signature', bytes.toString('base64'), seal.signature);
  const pem = own.export({ type: 'spki', format: 'pem' }).toString();
  differences.same('bundle', 'signature', 'the form of the key', pem, seal.public_key);
  const sound = verify(null, signedBytes(bundle.format, seal.statement), own, bytes);
  if (!sound) differences.add('bundle', 'signature', 'the signature is not one of this statement');
  return { signature: wanted === null ? 'self' : 'known', key_fingerprint };
}

function fingerprint(key: KeyObject): string {
  return hash('sha256', key.export({ type: 'spki', format: 'der' }), 'hex');
}
