/** Content-addressed bodies: an artifact's name is the SHA-256 of its bytes. */
export interface ArtifactStore {
  readonly location: string;
  /** Writes the bytes durably, unless they are there; answers their digest. */
  put(bytes: Uint8Array | string): Promise<string>;
  /** Reads and verifies; `artifact_missing` or `artifact_corrupt` when it is not what its name says. */
  get(digest: string): Promise<Buffer>;
}
