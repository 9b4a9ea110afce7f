import type { ArtifactStore } from '../contract/artifact.ts';
import { ProctorError } from '../contract/problem.ts';
import { digestBytes } from '../lib/canonical-json.ts';

/** Artifacts that are named but not kept, for planning without running; the first one stays readable. */
export interface DryArtifacts extends ArtifactStore {
  /** The first artifact that was put: the plan's first cases. */
  first(): string | null;
}

/** An artifact store that writes nothing. */
export function dryArtifacts(): DryArtifacts {
  let kept: string | null = null;
  return {
    location: 'nowhere',
    put: async (bytes) => {
      kept ??= Buffer.from(bytes).toString();
      return digestBytes(bytes);
    },
    get: async (digest) => {
      throw new ProctorError('artifact_missing', `artifact ${digest} was only named, not kept`);
    },
    first: () => kept,
  };
}
