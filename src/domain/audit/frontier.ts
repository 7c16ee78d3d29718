/**
 * The right edge of a growing Merkle tree, kept with the head of a stream.
 *
 * With it, adding a leaf and computing the root take O(log n) without reading any leaf again.
 * It holds the root of each largest full subtree, from left to right: one for each bit that is
 * set in the number of leaves.
 */

import { assert } from "../assert.ts";
import {
  leafHash,
  NODE_BYTES,
  nodeAt,
  type NodeHash,
  type PackedNodes,
  parentHash,
  setNode,
} from "./chain.ts";

export interface Frontier {
  /** Number of leaves. */
  readonly count: number;
  /** Roots of the full subtrees, the largest and leftmost first. */
  readonly peaks: readonly NodeHash[];
}

export const EMPTY_FRONTIER: Frontier = { count: 0, peaks: [] };

/** The frontier after one more leaf. */
export function extendFrontier(frontier: Frontier, value: string): Frontier {
  return extendFrontierBy(frontier, [value]);
}

/**
 * The frontier after more leaves. Hashes each leaf once, and on average one parent for each
 * leaf.
 */
export function extendFrontierBy({ count, peaks }: Frontier, values: readonly string[]): Frontier {
  const extended = [...peaks];
  let leaves = count;
  for (const value of values) addLeaf(extended, leaves++, value);
  return { count: leaves, peaks: extended };
}

/** Appends a leaf: turns the peaks of `count` leaves into those of one leaf more, in place. */
export function addLeaf(peaks: NodeHash[], count: number, value: string): void {
  let node = leafHash(value);
  // As in binary addition, each full subtree at the end of the row carries into the next size.
  for (let carried = count; carried % 2 === 1; carried = Math.floor(carried / 2)) {
    node = parentHash(peaks.pop()!, node);
  }
  peaks.push(node);
}

/** The same root as {@link merkleRoot} over all leaves. There must be at least one leaf. */
export function frontierRoot({ count, peaks }: Frontier): string {
  assert(count > 0, "a tree has at least one leaf");
  // The lowest peak ends its level. On each level above, the edge pairs with a peak or with itself.
  let below = peaks.length - 1;
  let edge = peaks[below]!;
  for (let nodes = count / 2 ** trailingZeros(count); nodes > 1; nodes = Math.ceil(nodes / 2)) {
    edge = isEven(nodes) ? parentHash(peaks[--below]!, edge) : parentHash(edge, edge);
  }
  return edge;
}

/** Packs the peaks one after another. Their number follows from the count of leaves. */
export function encodeFrontier({ peaks }: Frontier): PackedNodes {
  const bytes = new Uint8Array(peaks.length * NODE_BYTES);
  for (const [number, peak] of peaks.entries()) setNode(bytes, number, peak);
  return bytes;
}

export function decodeFrontier(count: number, bytes: PackedNodes): Frontier {
  const expected = peakCount(count);
  assert(bytes.length === expected * NODE_BYTES, "a frontier has a peak for each bit of its count");
  return { count, peaks: Array.from({ length: expected }, (_, number) => nodeAt(bytes, number)) };
}

/** How many peaks the frontier of `count` leaves has. */
export function peakCount(count: number): number {
  let peaks = 0;
  for (let rest = count; rest > 0; rest = Math.floor(rest / 2)) peaks += rest % 2;
  return peaks;
}

function trailingZeros(count: number): number {
  let zeros = 0;
  for (let rest = count; isEven(rest); rest /= 2) zeros++;
  return zeros;
}

function isEven(number: number): boolean {
  return number % 2 === 0;
}
