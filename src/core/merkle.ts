import { digestText } from '../lib/canonical-json.ts';

/**
 * A Merkle tree built leaf by leaf in O(log n) memory, with the tree shape of RFC 6962 §2.1: a left subtree is always a full
 * power of two. Leaves and nodes are hashed in different domains so that a node can never pass for a leaf.
 */
export class MerkleTree {
  readonly #pending: { readonly height: number; readonly hash: string }[] = [];

  add(leaf: string): void {
    let node = { height: 0, hash: digestText('proctor/leaf/1', leaf) };
    for (
      let last = this.#pending.at(-1);
      last !== undefined && last.height === node.height;
      last = this.#pending.at(-1)
    ) {
      this.#pending.pop();
      node = { height: node.height + 1, hash: parent(last.hash, node.hash) };
    }
    this.#pending.push(node);
  }

  /** The root over the leaves so far; of no leaves, the hash of the empty text. */
  root(): string {
    return (
      this.#pending
        .map((node) => node.hash)
        .reduceRight<string | null>((right, left) => (right === null ? left : parent(left, right)), null) ??
      digestText('proctor/leaf/1', '')
    );
  }
}

function parent(left: string, right: string): string {
  return digestText('proctor/node/1', left + right);
}
