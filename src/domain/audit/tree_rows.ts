/**
 * A whole Merkle tree in memory, a packed row for each level, in which leaves change, come and go
 * anywhere: k changed leaves of n cost O(k log n) hashes, and a leaf put between others costs the
 * nodes to its right, whose positions it moves. For the streams of an instance, sorted by key.
 *
 * What lasts is kept in blocks of {@link BLOCK_LEAVES} leaves: a proof needs the leaves of one
 * block and the row of all blocks' hashes, never the whole tree.
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
} from "./node_hash.ts";
import { nodesOnLevel, treeHeight } from "./tree_shape.ts";

/** Levels within a block. */
export const BLOCK_HEIGHT = 10;
export const BLOCK_LEAVES = 2 ** BLOCK_HEIGHT;

/** `rows[0]` are the leaves' hashes, the last row is the root. */
export interface TreeRows {
  readonly count: number;
  readonly rows: readonly PackedNodes[];
}

/** The tree over leaves that are hashed already; at least one. */
export function buildRows(leaves: PackedNodes): TreeRows {
  return changeRows(undefined, leaves, [], 0);
}

/**
 * The tree over `leaves`, made of the tree before, which is used up: its rows may be those of the
 * result. `changed` are the indexes below `movedFrom` whose leaf is another one, ascending; from
 * `movedFrom` on all may be (the first index at which a leaf was put in or taken out).
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
    // A pair is new when either of it is; the last node also when it has got or lost its brother.
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

/** Ascending, each once, and only those that are not made anew anyway. */
function parentsOf(indexes: readonly number[], before: number): number[] {
  const parents: number[] = [];
  for (const index of indexes) {
    const parent = Math.floor(index / 2);
    if (parent < before && parents.at(-1) !== parent) parents.push(parent);
  }
  return parents;
}

/** The row that was there where it has the length, else a copy of what stays of it. */
function keptRow(row: PackedNodes | undefined, nodes: number, kept: number): PackedNodes {
  if (row?.length === nodes * NODE_BYTES) return row;
  const resized = new Uint8Array(nodes * NODE_BYTES);
  if (row !== undefined) resized.set(row.subarray(0, kept * NODE_BYTES));
  return resized;
}

export function rowsRoot({ rows }: TreeRows): string {
  return rows.at(-1)!.toHex();
}

/** The hashes of all blocks, which is one row of the tree; empty where one block is all. */
export function blockRow({ rows }: TreeRows): PackedNodes {
  return rows[BLOCK_HEIGHT + 1] === undefined ? new Uint8Array(0) : rows[BLOCK_HEIGHT]!;
}

/**
 * The hash of one block of a tree of several: what {@link blockRow} has of it. So a tree can be
 * made block by block, and its root is that over the row of blocks.
 */
export function blockHash(block: TreeRows): NodeHash {
  const levels = BLOCK_HEIGHT - treeHeight(block.count);
  const top = repeatedAbove(block, levels).at(-1);
  return top === undefined ? rowsRoot(block) : parentHash(top, top);
}

const WORDS = NODE_BYTES / 4;
const sought = new Uint8Array(NODE_BYTES);
const soughtWords = new Uint32Array(sought.buffer);

/** The index of the first such node in a row that begins its buffer's words; -1 where none is. */
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

/** Which block has the leaf. */
export function blockOf(index: number): number {
  return Math.floor(index / BLOCK_LEAVES);
}

/**
 * The proof of the leaf `index` from the leaves of its block and the row of all blocks, which is
 * empty where there is one: two small trees, at most `BLOCK_LEAVES` and count / `BLOCK_LEAVES`.
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

/** A last block that is not full is repeated on each level up to the height of a block. */
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
