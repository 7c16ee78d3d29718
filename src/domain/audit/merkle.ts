/**
 * Merkle trees over values of 64 hex characters: root, inclusion proof, verification. Spec:
 * "Merkle trees", "Inclusion proof". What is kept between runs is in `frontier.ts` (a tree that
 * grows at its end) and `tree_rows.ts` (one that changes anywhere).
 */

import { leafHash, type MerkleFormat, type NodeHash, parentHash } from "./node_hash.ts";
import { type Direction, nodesOnLevel, pathToRoot, treeHeight } from "./tree_shape.ts";

/** One pair for each level below the root, the leaves' level first. */
export interface InclusionProof {
  readonly siblings: readonly string[];
  readonly directions: readonly Direction[];
}

/** The nodes of a tree by level and index; level 0 are the leaves' hashes. */
export type NodeReader = (level: number, index: number) => NodeHash;

/** The root over all values, of which there is at least one. */
export function merkleRoot(values: readonly string[], format: MerkleFormat = 2): string {
  return levelsOf(values, format).at(-1)![0]!;
}

/** The proof of the value at `index`. Reads the whole tree: see {@link proveFromNodes}. */
export function proveInclusion(
  values: readonly string[],
  index: number,
  format: MerkleFormat = 2,
): InclusionProof {
  const levels = levelsOf(values, format);
  return proveFromNodes(values.length, index, (level, at) => levels[level]![at]!);
}

/** The proof of the leaf `index` of a tree whose nodes can be read: one node for each level. */
export function proveFromNodes(count: number, index: number, read: NodeReader): InclusionProof {
  const siblings: string[] = [];
  const directions: Direction[] = [];
  for (const { level, sibling, direction } of pathToRoot(count, index)) {
    siblings.push(read(level, sibling));
    directions.push(direction);
  }
  return { siblings, directions };
}

function levelsOf(values: readonly string[], format: MerkleFormat): NodeHash[][] {
  if (values.length === 0) throw new RangeError("a tree has at least one leaf");
  const levels = [values.map((value) => leafHash(value, format))];
  for (let below = levels[0]!; below.length > 1; below = levels.at(-1)!) {
    const count = nodesOnLevel(below.length, 1);
    levels.push(Array.from({ length: count }, (_, index) => {
      const left = below[2 * index]!;
      return parentHash(left, below[2 * index + 1] ?? left, format);
    }));
  }
  return levels;
}

/** What a proof is to prove: that `value` is the leaf `index` of `count` under `root`. */
export interface InclusionClaim {
  readonly value: string;
  readonly index: number;
  readonly count: number;
  readonly root: string;
}

export interface InclusionRules {
  readonly format?: MerkleFormat;
  /**
   * No value is twice in the tree, so a node equals its sibling only where a level repeats its
   * last node. This refuses phantom indexes even where nobody has signed the count.
   */
  readonly valuesDiffer?: boolean;
}

/** The root to which a proof leads, whatever it may prove. */
export function proofRoot(value: string, { siblings, directions }: InclusionProof): NodeHash {
  let current = leafHash(value);
  for (const [level, sibling] of siblings.entries()) {
    current = directions[level] === "right"
      ? parentHash(current, sibling)
      : parentHash(sibling, current);
  }
  return current;
}

/** True when the proof proves the claim. All values must be of 64 lowercase hex characters. */
export function verifyInclusion(
  claim: InclusionClaim,
  proof: InclusionProof,
  rules: InclusionRules = {},
): boolean {
  return explainInclusion(claim, proof, rules) === undefined;
}

/** Why the proof does not prove the claim; undefined when it does. */
export function explainInclusion(
  claim: InclusionClaim,
  proof: InclusionProof,
  { format = 2, valuesDiffer = false }: InclusionRules = {},
): string | undefined {
  const { value, index, count, root } = claim;
  const misshapen = explainShape(index, count, proof);
  if (misshapen !== undefined) return misshapen;
  let current = leafHash(value, format);
  for (const { level, index: own, sibling: at, direction } of pathToRoot(count, index)) {
    const sibling = proof.siblings[level]!;
    const isAlone = at === own;
    const isSame = sibling === current;
    if (isAlone && !isSame) return `sibling ${level} is not the node that its level repeats`;
    if (valuesDiffer && isSame && !isAlone) {
      return `sibling ${level} repeats a node inside its level`;
    }
    current = direction === "right"
      ? parentHash(current, sibling, format)
      : parentHash(sibling, current, format);
  }
  return current === root ? undefined : `the proof leads to ${current}, not to ${root}`;
}

/** Why no proof for that index and count has this form; undefined when it has it. */
export function explainShape(
  index: number,
  count: number,
  { siblings, directions }: InclusionProof,
): string | undefined {
  if (siblings.length !== directions.length) {
    return `${siblings.length} siblings stand beside ${directions.length} directions`;
  }
  if (!(index < count)) return `index ${index} is not below the count of ${count}`;
  const height = treeHeight(count);
  if (siblings.length !== height) {
    return `a tree of ${count} has ${height} levels below its root, the proof ${siblings.length}`;
  }
  for (const { level, direction } of pathToRoot(count, index)) {
    if (directions[level] !== direction) {
      return `direction ${level} must be "${direction}" for index ${index}`;
    }
  }
  return undefined;
}
