/**
 * The hashes of evidence: links of the hash chain of a stream, in which each event commits to all
 * events before it, and nodes of Merkle trees, in both formats. See docs/reference/audit.md.
 */

import { hash } from "node:crypto";
import { openHashInput } from "../sha256/hash_input.ts";

/** 64 lowercase hex characters. */
export type ChainHash = string;

/**
 * The chain hash after `raw`. `previous` is undefined for the first event. The previous hash
 * enters as its 64 ASCII characters, not as 32 bytes; `raw` enters as UTF-8.
 */
export function extendChain(previous: ChainHash | undefined, raw: string): ChainHash {
  return hash("sha256", previous === undefined ? raw : previous + raw, "hex");
}

export const NODE_BYTES = 32;

/** 64 lowercase hex characters. A string, because small arrays cost more to make than to hash. */
export type NodeHash = string;

/** Nodes one after another, 32 bytes each. */
export type PackedNodes = Uint8Array<ArrayBuffer>;

/**
 * Format 2 marks leaves and inner nodes by their first byte. Format 1 did not; it is only
 * verified.
 */
export type MerkleFormat = 1 | 2;

const LEAF_PREFIX = 0x00;
const PARENT_PREFIX = 0x01;

const leaf = openHashInput(1 + NODE_BYTES);
leaf.bytes[0] = LEAF_PREFIX;
const leafValue = leaf.bytes.subarray(1);

const parent = openHashInput(1 + 2 * NODE_BYTES);
parent.bytes[0] = PARENT_PREFIX;
const children = parent.bytes.subarray(1);
const leftChild = children.subarray(0, NODE_BYTES);
const rightChild = children.subarray(NODE_BYTES);

/** The leaf of a value of 64 hex characters: a chain hash, or the root of a smaller tree. */
export function leafHash(value: string, format: MerkleFormat = 2): NodeHash {
  if (format === 1) return value;
  leafValue.setFromHex(value);
  return leaf.digest();
}

export function parentHash(left: NodeHash, right: NodeHash, format: MerkleFormat = 2): NodeHash {
  leftChild.setFromHex(left);
  rightChild.setFromHex(right);
  return format === 1 ? hash("sha256", children, "hex") : parent.digest();
}

/**
 * The parent of the packed nodes `index` and `index + 1`. A last node without a sibling is
 * paired with itself.
 */
export function packedParentHash(nodes: PackedNodes, index: number): NodeHash {
  const at = index * NODE_BYTES;
  const pair = nodes.subarray(at, at + 2 * NODE_BYTES);
  children.set(pair);
  if (pair.length === NODE_BYTES) rightChild.set(pair);
  return parent.digest();
}

export function nodeAt(nodes: PackedNodes, index: number): NodeHash {
  return nodes.subarray(index * NODE_BYTES, (index + 1) * NODE_BYTES).toHex();
}

export function setNode(nodes: PackedNodes, index: number, node: NodeHash): void {
  nodes.subarray(index * NODE_BYTES, (index + 1) * NODE_BYTES).setFromHex(node);
}

/** Sets consecutive nodes from `index` on. One call for all is much cheaper than one for each. */
export function setNodes(nodes: PackedNodes, index: number, made: readonly NodeHash[]): void {
  nodes.subarray(index * NODE_BYTES).setFromHex(made.join(""));
}
