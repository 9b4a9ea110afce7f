import type { ArtifactStore } from './artifact.ts';
import type { RunReaders } from './store.ts';

/** What a bundle says of its run, in canonical JSON; what a signature is over. */
export interface BundleStatement {
  readonly format: 'proctor/bundle/1' | 'proctor/bundle/2';
  readonly run_id: string;
  readonly status: string;
  readonly gate_status: string;
  readonly snapshot_digest: string;
  readonly content_digest: string | null;
  readonly evidence_root: string | null;
  readonly finished_at: number | null;
  /** Corrections by hand, the hash of the last (null without), and the gate with them. */
  readonly revision: number;
  readonly correction: string | null;
  readonly effective_gate_status: string;
  /** The root of the last revision, the evidence root without one; statements made before revisions had roots do not have it. */
  readonly revision_root?: string | null;
  /** SHA-256 of every byte of the file before the statement's line; a bundle of format 1 does not have it. */
  readonly file?: string;
  /** Digest over the names of the artifacts inside, in order. */
  readonly artifacts: string;
}

/** An Ed25519 signature of a statement: the signature in base64, the public key as SPKI PEM. */
export interface BundleSignature {
  readonly signature: string;
  readonly public_key: string;
}

/** The statement and signature as they stand in a bundle; texts, because nothing in them is trusted before it was checked. */
export interface BundleSeal {
  readonly statement: string;
  readonly signature: string | null;
  readonly public_key: string | null;
}

/** A bundle opened for reading, whatever holds it. */
export interface OpenBundle {
  /** 1: a SQLite file, whose spare bytes nothing covers; 2: canonical lines. */
  readonly format: 1 | 2;
  /** SHA-256 of every byte before the statement; null in a bundle of format 1. */
  readonly file_digest: string | null;
  readonly store: RunReaders;
  readonly artifacts: ArtifactStore;
  /** The ids of the runs inside; a sound bundle has one. */
  readonly run_ids: readonly string[];
  readonly seals: readonly BundleSeal[];
  /** Names of the artifacts inside, in order. */
  artifactNames(): string[];
  /** What is wrong with the file itself: pages, tables that are not ours, rows of other runs; a sentence each. */
  problems(): Promise<string[]>;
}
