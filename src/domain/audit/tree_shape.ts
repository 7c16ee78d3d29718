/**
 * The shape of a Merkle tree, which follows from the number of leaves.
 *
 * See docs/reference/audit.md.
 */

/** The side of a node on which its sibling stands. */
export type Direction = "left" | "right";

/** Levels below the root, which is the number of siblings in every proof. */
export function treeHeight(count: number): number {
  let height = 0;
  for (let nodes = count; nodes > 1; nodes = Math.ceil(nodes / 2)) height++;
  return height;
}

/** Nodes on a level; level 0 holds the leaves. An odd last node has no sibling of its own. */
export function nodesOnLevel(count: number, level: number): number {
  // Halving and rounding up repeatedly equals one division rounded up at the end.
  return Math.ceil(count / 2 ** level);
}

/** One step on the path from a leaf to the root. */
export interface PathStep {
  readonly level: number;
  /** The node's index on its level. */
  readonly index: number;
  readonly direction: Direction;
  /**
   * Index of the sibling; the node's own index if it is the last of its level and has no
   * sibling.
   */
  readonly sibling: number;
}

/** The path up from leaf `index` of a tree of `count` leaves, one step for each level. */
export function* pathToRoot(count: number, index: number): Generator<PathStep> {
  let nodes = count;
  for (let level = 0, own = index; nodes > 1; level++) {
    const isRight = own % 2 === 1;
    const sibling = isRight ? own - 1 : own + 1 < nodes ? own + 1 : own;
    yield { level, index: own, direction: isRight ? "left" : "right", sibling };
    own = Math.floor(own / 2);
    nodes = Math.ceil(nodes / 2);
  }
}
