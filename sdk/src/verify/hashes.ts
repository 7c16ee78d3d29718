/** The hashes of evidence: links of the chain of a stream, and nodes of Merkle trees. */

import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, concatBytes, hexToBytes } from "@noble/hashes/utils.js";

/** Format 2 marks leaves and inner nodes by their first byte; format 1 does not. */
export type MerkleFormat = 1 | 2;

const encoder = new TextEncoder();

export function encode(value: string): Uint8Array {
  return encoder.encode(value);
}

/** The chain hash after `raw`. The hash before it enters as its 64 characters; "" for none. */
export function chainHash(previous: string, raw: string): string {
  return bytesToHex(sha256(encode(previous + raw)));
}

export function leafHash(value: string, format: MerkleFormat): string {
  return format === 1 ? value : hashOf(0, value);
}

export function parentHash(left: string, right: string, format: MerkleFormat): string {
  return format === 1 ? bytesToHex(sha256(hexToBytes(left + right))) : hashOf(1, left + right);
}

function hashOf(prefix: number, hex: string): string {
  return bytesToHex(sha256(concatBytes(Uint8Array.of(prefix), hexToBytes(hex))));
}
