/**
 * Merkle trees over values of 64 hex characters: root, inclusion proof, verification.
 *
 * Trees that are stored between runs are in `frontier.ts` (grows at its end) and `tree_rows.ts`
 * (changes anywhere). See docs/reference/audit.md.
 */

import { leafHash, type MerkleFormat, type NodeHash, parentHash } from "./chain.ts";
import { type Direction, nodesOnLevel, pathToRoot, treeHeight } from "./tree_shape.ts";

/** One sibling and direction for each level below the root, starting at the leaves. */
export interface InclusionProof {
  readonly siblings: readonly string[];
  readonly directions: readonly Direction[];
}

/** Reads nodes of a tree by level and index. Level 0 holds the leaf hashes. */
export type NodeReader = (level: number, index: number) => NodeHash;

/** The root over all values. There must be at least one. */
export function merkleRoot(values: readonly string[], format: MerkleFormat = 2): string {
  return levelsOf(values, format).at(-1)![0]!;
}

/**
 * The inclusion proof of the value at `index`. Reads the whole tree; see {@link
 * proveFromNodes}.
 */
export function proveInclusion(
  values: readonly string[],
  index: number,
  format: MerkleFormat = 2,
): InclusionProof {
  const levels = levelsOf(values, format);
  return proveFromNodes(values.length, index, (level, at) => levels[level]![at]!);
}

/**
 * The inclusion proof of leaf `index` in a tree with readable nodes. Reads one node of each
 * level.
 */
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

/** What a proof must prove: that `value` is leaf `index` of `count` under `root`. */
export interface InclusionClaim {
  readonly value: string;
  readonly index: number;
  readonly count: number;
  readonly root: string;
}

export interface InclusionRules {
  readonly format?: MerkleFormat;
  /**
   * No value occurs twice in the tree, so a node equals its sibling only where a level repeats
   * its last node. This refuses phantom indexes even when nobody has signed the count.
   */
  readonly valuesDiffer?: boolean;
}

/** The root that a proof leads to, whatever it may prove. */
export function proofRoot(value: string, { siblings, directions }: InclusionProof): NodeHash {
  let current = leafHash(value);
  for (const [level, sibling] of siblings.entries()) {
    current = directions[level] === "right"
      ? parentHash(current, sibling)
      : parentHash(sibling, current);
  }
  return current;
}

/** True when the proof proves the claim. All hashes must have 64 lowercase hex characters. */
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

/** Why a proof of that index and count cannot have this shape; undefined when it can. */
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
