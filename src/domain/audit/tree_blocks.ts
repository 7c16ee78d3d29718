/**
 * The blocks of an instance tree, in which an anchor keeps its tree.
 *
 * A block holds {@link BLOCK_LEAVES} streams that are consecutive by key. A partial block is
 * raised to the height of a full one by repeating its root, unless it is the only block.
 */

import { NODE_BYTES, type NodeHash, type PackedNodes, setNodes } from "./chain.ts";
import { BLOCK_LEAVES, blockHash, buildRows, rowsRoot, type TreeRows } from "./tree_rows.ts";

/** A stream as it was when the anchor was made. */
export interface TreeEntry {
  readonly key: string;
  /** Events covered. */
  readonly length: number;
  /** The leaf in the instance tree: the hash of the stream's root. */
  readonly leaf: NodeHash;
}

export interface TreeBlock {
  readonly hash: NodeHash;
  /** Key of the first stream in the block. */
  readonly first: string;
}

export interface HashedBlock extends TreeBlock {
  /** The block's hash when it is the only block. */
  readonly lone: NodeHash;
  readonly rows: TreeRows;
}

/** `entries` are sorted by key; at most {@link BLOCK_LEAVES}. */
export function hashBlock(entries: readonly TreeEntry[]): HashedBlock {
  return blockOfRows(entries[0]!.key, buildRows(packLeaves(entries)));
}

/** The block with these rows whose first stream is `first`. */
export function blockOfRows(first: string, rows: TreeRows): HashedBlock {
  const hash = blockHash(rows);
  return { hash, lone: rows.count === BLOCK_LEAVES ? hash : rowsRoot(rows), first, rows };
}

/** The blocks of a whole tree, in their order. */
export function joinBlocks(blocks: readonly (TreeBlock | HashedBlock)[]): TreeBlock[] {
  return blocks.map((block) => {
    const isLone = blocks.length === 1 && "lone" in block;
    return { hash: isLone ? block.lone : block.hash, first: block.first };
  });
}

/** The root of the tree. There must be at least one block. */
export function blocksRoot(blocks: readonly TreeBlock[]): NodeHash {
  return blocks.length === 1 ? blocks[0]!.hash : rowsRoot(buildRows(packBlocks(blocks)));
}

/** Index of the block whose range contains the key; -1 when the key is before all blocks. */
export function blockWith(blocks: readonly TreeBlock[], key: string): number {
  let low = 0;
  let high = blocks.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (blocks[middle]!.first <= key) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

export function packLeaves(entries: readonly TreeEntry[]): PackedNodes {
  const leaves = new Uint8Array(entries.length * NODE_BYTES);
  setNodes(leaves, 0, entries.map(({ leaf }) => leaf));
  return leaves;
}

/** The hashes of the blocks as a row of the tree; empty when there is only one block. */
export function packBlocks(blocks: readonly TreeBlock[]): PackedNodes {
  if (blocks.length === 1) return new Uint8Array(0);
  const row = new Uint8Array(blocks.length * NODE_BYTES);
  setNodes(row, 0, blocks.map(({ hash }) => hash));
  return row;
}

/**
 * Merges two lists that are sorted by key. An entry of `changes` replaces the one with the same
 * key.
 */
export function mergeEntries(
  before: readonly TreeEntry[],
  changes: readonly TreeEntry[],
): readonly TreeEntry[] {
  if (changes.length === 0) return before;
  const merged: TreeEntry[] = [];
  let at = 0;
  for (const change of changes) {
    while (at < before.length && before[at]!.key < change.key) merged.push(before[at++]!);
    if (before[at]?.key === change.key) at++;
    merged.push(change);
  }
  while (at < before.length) merged.push(before[at++]!);
  return merged;
}
