/** Hashes of the nodes of a Merkle tree, in both formats. Spec: "Merkle trees", "Format 1". */

import { hash } from "node:crypto";

export const NODE_BYTES = 32;

/** 32 bytes. Never changed once it is handed out. */
export type NodeHash = Uint8Array;

/** 2 separates leaves from inner nodes by a first byte; 1, which is only verified, did not. */
export type MerkleFormat = 1 | 2;

const LEAF_PREFIX = 0x00;
const PARENT_PREFIX = 0x01;

const leafInput = new Uint8Array(1 + NODE_BYTES);
leafInput[0] = LEAF_PREFIX;
const parentInput = new Uint8Array(1 + 2 * NODE_BYTES);
parentInput[0] = PARENT_PREFIX;

/** The leaf of a value of 64 hex characters: a chain hash, or the root of a smaller tree. */
export function leafHash(value: string, format: MerkleFormat = 2): NodeHash {
  const bytes = Uint8Array.fromHex(value);
  if (format === 1) return bytes;
  leafInput.set(bytes, 1);
  return hash("sha256", leafInput, "buffer");
}

export function parentHash(left: NodeHash, right: NodeHash, format: MerkleFormat = 2): NodeHash {
  parentInput.set(left, 1);
  parentInput.set(right, 1 + NODE_BYTES);
  return hash("sha256", format === 1 ? parentInput.subarray(1) : parentInput, "buffer");
}

/** Compares without a short cut in the type system: two arrays are equal when their bytes are. */
export function isSameNode(a: NodeHash, b: NodeHash): boolean {
  for (let at = 0; at < NODE_BYTES; at++) if (a[at] !== b[at]) return false;
  return true;
}
