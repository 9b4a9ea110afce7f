/** Content-addressed bodies: an artifact's name is the SHA-256 of its bytes. */
export interface ArtifactStore {
  readonly location: string;
  /** Writes the bytes durably, unless they are there; answers their digest. */
  put(bytes: Uint8Array | string): Promise<string>;
  /**
   * Reads and verifies; `artifact_missing` or `artifact_corrupt` when it is not what its name says. Where its size was `recorded`, one of another
   * size is not read.
   */
  get(digest: string, recorded?: number | null): Promise<Buffer>;
}

/** An artifact store at its place for as long as a process works. */
export interface ArtifactPlace extends ArtifactStore, Disposable {
  /** Rejects with `store_lost` once the place is gone or is another one than before. */
  confirm(): Promise<void>;
  /** True when the artifact is there; its bytes are not read. */
  has(digest: string): Promise<boolean>;
}
