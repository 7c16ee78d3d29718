/**
 * A whole Merkle tree in memory, for the streams of an instance, sorted by key.
 *
 * It keeps one packed row for each level, and leaves may change, come and go anywhere. Changing
 * k of n leaves costs O(k log n) hashes. Inserting a leaf costs all nodes to its right, because
 * their positions move.
 *
 * The store keeps the tree in blocks of {@link BLOCK_LEAVES} leaves. A proof needs the leaves
 * of one block and the row of all block hashes, never the whole tree.
 */

import { assert } from "../assert.ts";
import { type InclusionProof, proveFromNodes } from "./merkle.ts";
import {
  NODE_BYTES,
  nodeAt,
  type NodeHash,
  type PackedNodes,
  packedParentHash,
  parentHash,
  setNode,
  setNodes,
} from "./chain.ts";
import { nodesOnLevel, treeHeight } from "./tree_shape.ts";

/** Levels within a block. */
export const BLOCK_HEIGHT = 10;
export const BLOCK_LEAVES = 2 ** BLOCK_HEIGHT;

/** `rows[0]` holds the leaf hashes, the last row the root. */
export interface TreeRows {
  readonly count: number;
  readonly rows: readonly PackedNodes[];
}

/** Builds the tree over hashed leaves. There must be at least one. */
export function buildRows(leaves: PackedNodes): TreeRows {
  return changeRows(undefined, leaves, [], 0);
}

/**
 * The tree over `leaves`, built from the tree `before`. That tree must not be used afterwards,
 * because the result may share its rows. `changed` are the ascending indexes below `movedFrom`
 * whose leaf has changed. From `movedFrom` on, the first index of an insertion or removal, all
 * leaves may differ.
 */
export function changeRows(
  before: TreeRows | undefined,
  leaves: PackedNodes,
  changed: readonly number[],
  movedFrom: number,
): TreeRows {
  const count = countOf(leaves);
  assert(count > 0, "a tree has at least one leaf");
  const rows = [leaves];
  let dirty = changed;
  let from = Math.min(movedFrom, count);
  for (let level = 1; level <= treeHeight(count); level++) {
    const below = rows[level - 1]!;
    const nodes = nodesOnLevel(count, level);
    // A parent is new when either child is, and the last one also when it gained or lost its
    // second child.
    from = Math.floor(from / 2);
    dirty = parentsOf(dirty, from);
    const row = keptRow(before?.rows[level], nodes, from);
    for (const index of dirty) setNode(row, index, packedParentHash(below, 2 * index));
    const made: NodeHash[] = [];
    for (let index = from; index < nodes; index++) made.push(packedParentHash(below, 2 * index));
    setNodes(row, from, made);
    rows.push(row);
  }
  return { count, rows };
}

function countOf(nodes: PackedNodes): number {
  assert(nodes.length % NODE_BYTES === 0, "packed nodes have 32 bytes each");
  return nodes.length / NODE_BYTES;
}

/** Ascending and without duplicates. Omits parents from `before` on, which are rebuilt anyway. */
function parentsOf(indexes: readonly number[], before: number): number[] {
  const parents: number[] = [];
  for (const index of indexes) {
    const parent = Math.floor(index / 2);
    if (parent < before && parents.at(-1) !== parent) parents.push(parent);
  }
  return parents;
}

/** Reuses the row if it has the right length; otherwise copies the part of it that stays. */
function keptRow(row: PackedNodes | undefined, nodes: number, kept: number): PackedNodes {
  if (row?.length === nodes * NODE_BYTES) return row;
  const resized = new Uint8Array(nodes * NODE_BYTES);
  if (row !== undefined) resized.set(row.subarray(0, kept * NODE_BYTES));
  return resized;
}

export function rowsRoot({ rows }: TreeRows): string {
  return rows.at(-1)!.toHex();
}

/** The hashes of all blocks, which are one row of the tree; empty when there is only one block. */
export function blockRow({ rows }: TreeRows): PackedNodes {
  return rows[BLOCK_HEIGHT + 1] === undefined ? new Uint8Array(0) : rows[BLOCK_HEIGHT]!;
}

/**
 * The hash of one block in a tree of several, as {@link blockRow} has it. With it, a tree can
 * be built block by block; its root is the root over the row of blocks.
 */
export function blockHash(block: TreeRows): NodeHash {
  const levels = BLOCK_HEIGHT - treeHeight(block.count);
  const top = repeatedAbove(block, levels).at(-1);
  return top === undefined ? rowsRoot(block) : parentHash(top, top);
}

const WORDS = NODE_BYTES / 4;
const sought = new Uint8Array(NODE_BYTES);
const soughtWords = new Uint32Array(sought.buffer);

/** The index of the first equal node in the row, or -1. The row must be aligned to 4 bytes. */
export function indexOfNode(row: PackedNodes, node: NodeHash): number {
  sought.setFromHex(node);
  const words = new Uint32Array(row.buffer, row.byteOffset, row.length / 4);
  for (let at = 0; at < words.length; at += WORDS) {
    let same = 0;
    while (same < WORDS && words[at + same] === soughtWords[same]) same++;
    if (same === WORDS) return at / WORDS;
  }
  return -1;
}

/** The block that holds the leaf. */
export function blockOf(index: number): number {
  return Math.floor(index / BLOCK_LEAVES);
}

/**
 * The inclusion proof of leaf `index`, from the leaves of its block and the row of all blocks,
 * which is empty when there is only one. Builds two small trees, of at most `BLOCK_LEAVES` and
 * of count / `BLOCK_LEAVES` leaves.
 */
export function proveInBlock(
  index: number,
  blockLeaves: PackedNodes,
  blocks: PackedNodes,
): InclusionProof {
  const block = buildRows(blockLeaves);
  const within = proveInRows(block, index % BLOCK_LEAVES);
  if (blocks.length === 0) return within;
  const above = proveInRows(buildRows(blocks), blockOf(index));
  const lone = repeatedAbove(block, BLOCK_HEIGHT - within.siblings.length);
  return {
    siblings: [...within.siblings, ...lone, ...above.siblings],
    directions: [...within.directions, ...lone.map(() => "right" as const), ...above.directions],
  };
}

/** The root of a partial last block, repeated on each level up to the height of a full block. */
function repeatedAbove({ rows }: TreeRows, levels: number): string[] {
  const repeated: string[] = [];
  let node = rows.at(-1)!.toHex();
  for (let level = 0; level < levels; level++) {
    repeated.push(node);
    node = parentHash(node, node);
  }
  return repeated;
}

function proveInRows({ count, rows }: TreeRows, index: number): InclusionProof {
  return proveFromNodes(count, index, (level, at) => nodeAt(rows[level]!, at));
}
