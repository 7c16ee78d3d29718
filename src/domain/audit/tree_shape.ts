/** The shape of a Merkle tree: it follows from the number of leaves. Spec: "Merkle trees". */

/** On which side of a node its sibling stands. */
export type Direction = "left" | "right";

/** Levels below the root: the number of pairs in every proof. */
export function treeHeight(count: number): number {
  let height = 0;
  for (let nodes = count; nodes > 1; nodes = Math.ceil(nodes / 2)) height++;
  return height;
}

/** Nodes on a level; 0 is that of the leaves. An odd last node has no brother of its own. */
export function nodesOnLevel(count: number, level: number): number {
  // Halves rounded up, one after the other, are the whole division rounded up.
  return Math.ceil(count / 2 ** level);
}

/** One step of the way from a leaf to the root. */
export interface PathStep {
  readonly level: number;
  /** The node's own index on its level. */
  readonly index: number;
  readonly direction: Direction;
  /** Index of the sibling; the node's own where the level ends with it and it stands alone. */
  readonly sibling: number;
}

/** The way up from the leaf `index` of a tree of `count` leaves, one step for each level. */
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
