import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { MerkleTree } from '../../src/core/merkle.ts';

const hash = (domain: string, text: string) => createHash('sha256').update(`${domain}\n${text}`).digest('hex');
const leaf = (text: string) => hash('proctor/leaf/1', text);
const node = (left: string, right: string) => hash('proctor/node/1', left + right);

/** RFC 6962 §2.1 as it is written: split at the largest power of two below n. */
function rootOf(leaves: readonly string[]): string {
  if (leaves.length === 1) return leaf(leaves[0]!);
  let split = 1;
  while (split * 2 < leaves.length) split *= 2;
  return node(rootOf(leaves.slice(0, split)), rootOf(leaves.slice(split)));
}

function treeOf(leaves: readonly string[]): MerkleTree {
  const tree = new MerkleTree();
  for (const one of leaves) tree.add(one);
  return tree;
}

test('of no leaves the root is the hash of an empty one', () => {
  expect(new MerkleTree().root()).toBe(leaf(''));
});

test('one to three leaves', () => {
  expect(treeOf(['a']).root()).toBe(leaf('a'));
  expect(treeOf(['a', 'b']).root()).toBe(node(leaf('a'), leaf('b')));
  expect(treeOf(['a', 'b', 'c']).root()).toBe(node(node(leaf('a'), leaf('b')), leaf('c')));
});

test('any number of leaves gives the tree of RFC 6962, and a root may be read while it grows', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ maxLength: 3 }), { minLength: 1, maxLength: 40 }), (leaves) => {
      const tree = new MerkleTree();
      leaves.forEach((one, index) => {
        tree.add(one);
        expect(tree.root()).toBe(rootOf(leaves.slice(0, index + 1)));
      });
    }),
    { numRuns: 25 },
  );
});
