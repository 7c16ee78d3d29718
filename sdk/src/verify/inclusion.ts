/**
 * Inclusion proofs in Merkle trees. The shape of a proof follows from index and count, so none of
 * it may be chosen freely: repeated nodes make indexes fold to the root that no leaf has.
 */

import { directions, hex64, index, needFields, siblings } from "./form.ts";
import { leafHash, type MerkleFormat, parentHash } from "./hashes.ts";
import { need, type OnCheck, type Refused, verdictOf, type VerifyStep } from "./verdict.ts";

/**
 * One sibling and direction for each level below the root, starting at the leaves.
 *
 * @example
 * ```ts
 * import type { InclusionProof } from "@daybook/client/verify";
 *
 * const proof: InclusionProof = { siblings: ["ab".repeat(32)], directions: ["right"] };
 * console.log(proof);
 * ```
 */
export interface InclusionProof {
  readonly siblings: readonly string[];
  readonly directions: readonly ("left" | "right")[];
}

/**
 * What a proof must prove: that `value` is leaf `index` (from 0) of `count` under `root`.
 *
 * @example
 * ```ts
 * import type { InclusionClaim } from "@daybook/client/verify";
 *
 * const [value, root] = ["ab".repeat(32), "cd".repeat(32)];
 * const claim: InclusionClaim = { value, index: 0, count: 2, root };
 * console.log(claim);
 * ```
 */
export interface InclusionClaim {
  /** 64 lowercase hex characters: a chain hash, or the root of a smaller tree. */
  readonly value: string;
  readonly index: number;
  readonly count: number;
  readonly root: string;
}

/**
 * Which trees are meant. `format` 2, if not given, marks leaves and nodes; 1 does not.
 * `valuesDiffer`: no value occurs twice, which refuses phantom indexes even if nobody has signed
 * `count`.
 *
 * @example
 * ```ts
 * import type { InclusionRules } from "@daybook/client/verify";
 *
 * const rules: InclusionRules = { format: 2, valuesDiffer: true };
 * console.log(rules);
 * ```
 */
export interface InclusionRules {
  readonly format?: 1 | 2;
  readonly valuesDiffer?: boolean;
}

/**
 * Verifies that a value is in a tree. `root` and `count` have to come from something signed. A
 * proof whose lists have another length or direction than index and count say is refused.
 *
 * @example
 * ```ts
 * import { verifyInclusion } from "@daybook/client/verify";
 *
 * const value = "20e325f06280f9d0d193fed01a0eda5bef79063f5d81e5ae4e0a7b45fc0a4ac5";
 * const claim = { value, index: 1, count: 1, root: value };
 * const verdict = verifyInclusion(claim, { siblings: [], directions: [] });
 * console.log(verdict.ok ? "ok" : verdict.step); // counts
 * ```
 */
export function verifyInclusion(
  claim: InclusionClaim,
  proof: InclusionProof,
  rules: InclusionRules = {},
): { readonly ok: true } | Refused {
  return verdictOf(() => {
    needFields(claim, { value: hex64, index, count: index, root: hex64 }, "the claim");
    needFields(proof, { siblings, directions }, "the proof");
    needShape(claim.index, claim.count, proof);
    needInclusion(claim, proof, { step: "proof", format: 2, valuesDiffer: false, ...rules });
    return { ok: true };
  });
}

/** Refuses a proof of that index and count which cannot have this shape. */
export function needShape(
  index: number,
  count: number,
  { siblings, directions }: InclusionProof,
  where = "the proof",
): void {
  const { length } = siblings;
  const isPaired = length === directions.length;
  need(isPaired, "counts", `${where} has ${length} siblings and ${directions.length} directions`);
  need(index < count, "counts", `index ${index} is not below the count of ${count} in ${where}`);
  let level = 0;
  for (let at = index, nodes = count; nodes > 1; level++) {
    const direction = at % 2 === 1 ? "left" : "right";
    const isRight = level >= length || directions[level] === direction;
    need(isRight, "counts", `direction ${level} of ${where} must be "${direction}"`);
    at = Math.floor(at / 2);
    nodes = Math.ceil(nodes / 2);
  }
  need(level === length, "counts", `${where} has ${length} levels, a tree of ${count} ${level}`);
}

interface Step {
  /** What a refusal names. */
  readonly step: VerifyStep;
  readonly format: MerkleFormat;
  readonly valuesDiffer: boolean;
  readonly onCheck?: OnCheck;
}

/** Refuses a proof of the right shape that does not lead to the root. */
export function needInclusion(
  { value, index, count, root }: InclusionClaim,
  { siblings }: InclusionProof,
  { step, format, valuesDiffer, onCheck }: Step,
): void {
  let current = leafHash(value, format);
  let [at, nodes] = [index, count];
  for (const [level, sibling] of siblings.entries()) {
    // An odd level repeats its last node, and nothing else may repeat one.
    const isAlone = nodes % 2 === 1 && at === nodes - 1;
    const isSame = sibling === current;
    need(isSame || !isAlone, step, `sibling ${level} is not the node that its level repeats`);
    const isPhantom = isSame && !isAlone && valuesDiffer;
    need(!isPhantom, step, `sibling ${level} repeats a node inside its level`);
    current = at % 2 === 1
      ? parentHash(sibling, current, format)
      : parentHash(current, sibling, format);
    at = Math.floor(at / 2);
    nodes = Math.ceil(nodes / 2);
  }
  const what = `root above leaf ${index} of ${count}`;
  onCheck?.({ step, what, computed: current, expected: root });
  need(current === root, step, `the proof leads to ${current}, not to ${root}`);
}
