/**
 * Merkle trees and inclusion proofs. An oracle made the golden roots and proofs. See
 * docs/reference/audit.md.
 */

import assert from "node:assert/strict";
import {
  explainInclusion,
  type InclusionProof,
  merkleRoot,
  proveInclusion,
  verifyInclusion,
} from "../../../src/domain/audit/merkle.ts";
import {
  leafHash,
  type MerkleFormat,
  type NodeHash,
  parentHash,
} from "../../../src/domain/audit/chain.ts";
import { type Direction, nodesOnLevel, treeHeight } from "../../../src/domain/audit/tree_shape.ts";
import golden from "../../golden/audit/merkle.json" with { type: "json" };

const SIZE_MAX = 70;
const HASH_BITS = 256;
/**
 * One in this many bits of each hash is flipped, starting at a different bit for each proof; 1
 * flips all.
 */
const BIT_STRIDE = Number(Deno.env.get("AUDIT_BIT_STRIDE") ?? 16);

interface Case {
  readonly count: number;
  readonly index: number;
  readonly value: string;
  readonly root: string;
  readonly proof: InclusionProof;
}

function* everyProof(format: MerkleFormat = 2): Generator<Case> {
  for (let count = 1; count <= SIZE_MAX; count++) {
    const values = golden.values.slice(0, count);
    const root = merkleRoot(values, format);
    for (const [index, value] of values.entries()) {
      yield { count, index, value, root, proof: proveInclusion(values, index, format) };
    }
  }
}

function withBitTurned(hex: string, bit: number): string {
  const bytes = Uint8Array.fromHex(hex);
  bytes[bit >> 3]! ^= 1 << (bit & 7);
  return bytes.toHex();
}

Deno.test("merkleRoot() gives the oracle's root for 1 to 70 leaves, in both formats", () => {
  assert.equal(golden.trees.length, SIZE_MAX);
  for (const { count, root, root_format_1 } of golden.trees) {
    assert.equal(merkleRoot(golden.values.slice(0, count)), root);
    assert.equal(merkleRoot(golden.values.slice(0, count), 1), root_format_1);
  }
});

Deno.test("proveInclusion() gives the oracle's proofs", () => {
  for (const { format, count, index, siblings, directions } of golden.proofs) {
    const proof = proveInclusion(golden.values.slice(0, count), index, format as MerkleFormat);
    assert.deepEqual(proof, { siblings, directions });
  }
});

Deno.test("merkleRoot() has no answer for no leaves", () => {
  assert.throws(() => merkleRoot([]), RangeError);
});

Deno.test("a tree of format 1 with one leaf has that leaf as its root; one of format 2 has not", () => {
  const [value] = golden.values as [string];
  assert.equal(merkleRoot([value], 1), value);
  assert.notEqual(merkleRoot([value]), value);
});

Deno.test("verifyInclusion() accepts every proof of every tree of 1 to 70 leaves", () => {
  for (const format of [1, 2] as const) {
    for (const { proof, ...claim } of everyProof(format)) {
      assert.equal(explainInclusion(claim, proof, { format, valuesDiffer: true }), undefined);
      const otherFormat = format === 1 ? 2 : 1;
      assert.ok(!verifyInclusion(claim, proof, { format: otherFormat }));
    }
  }
});

Deno.test("verifyInclusion() refuses every proof with a bit of value, root or a sibling turned", () => {
  let turned = 0;
  for (const { proof, ...claim } of everyProof()) {
    for (let bit = claim.index % BIT_STRIDE; bit < HASH_BITS; bit += BIT_STRIDE) {
      const value = withBitTurned(claim.value, bit);
      assert.ok(!verifyInclusion({ ...claim, value }, proof));
      const root = withBitTurned(claim.root, bit);
      assert.ok(!verifyInclusion({ ...claim, root }, proof));
      for (const [level, sibling] of proof.siblings.entries()) {
        const siblings = proof.siblings.with(level, withBitTurned(sibling, bit));
        assert.ok(!verifyInclusion(claim, { ...proof, siblings }));
        turned++;
      }
    }
  }
  assert.ok(turned >= 200_000);
});

Deno.test("verifyInclusion() refuses every proof with a direction swapped", () => {
  for (const { proof, ...claim } of everyProof()) {
    for (const [level, direction] of proof.directions.entries()) {
      const swapped: Direction = direction === "left" ? "right" : "left";
      const directions = proof.directions.with(level, swapped);
      assert.ok(!verifyInclusion(claim, { ...proof, directions }));
    }
  }
});

Deno.test("verifyInclusion() refuses every proof with a sibling or direction too many or too few", () => {
  for (const { proof, ...claim } of everyProof()) {
    const { siblings, directions } = proof;
    const longer = { siblings: [...siblings, claim.root], directions: [...directions, "right"] };
    const variants = [
      { siblings: longer.siblings, directions },
      { siblings, directions: longer.directions },
      longer,
      ...siblings.map((_, level) => ({ siblings: siblings.toSpliced(level, 1), directions })),
      ...siblings.map((_, level) => ({ siblings, directions: directions.toSpliced(level, 1) })),
      ...siblings.map((_, level) => ({
        siblings: siblings.toSpliced(level, 1),
        directions: directions.toSpliced(level, 1),
      })),
    ];
    for (const variant of variants) {
      assert.ok(!verifyInclusion(claim, variant as InclusionProof));
    }
  }
});

Deno.test("verifyInclusion() refuses every other index, and the proof of every other leaf", () => {
  for (let count = 1; count <= SIZE_MAX; count++) {
    const values = golden.values.slice(0, count);
    const root = merkleRoot(values);
    const proofs = values.map((_, index) => proveInclusion(values, index));
    for (const [index, value] of values.entries()) {
      for (const [other, proof] of proofs.entries()) {
        if (other === index) continue;
        assert.ok(!verifyInclusion({ value, index, count, root }, proof));
        assert.ok(!verifyInclusion({ value, index: other, count, root }, proofs[index]!));
      }
    }
  }
});

function levelsOf(values: readonly string[]): NodeHash[][] {
  const levels = [values.map((value) => leafHash(value))];
  for (let level = 1; level <= treeHeight(values.length); level++) {
    const below = levels[level - 1]!;
    levels.push(
      Array.from(
        { length: nodesOnLevel(values.length, level) },
        (_, index) => parentHash(below[2 * index]!, below[2 * index + 1] ?? below[2 * index]!),
      ),
    );
  }
  return levels;
}

/** A proof that folds a nonexistent leaf to the root: that leaf repeats an existing one. */
function phantomOf(values: readonly string[], levels: readonly NodeHash[][], index: number) {
  const siblings: string[] = [];
  const directions: Direction[] = [];
  let own = 0;
  for (let level = treeHeight(values.length) - 1; level >= 0; level--) {
    const nodes = levels[level]!;
    const isRight = Math.floor(index / 2 ** level) % 2 === 1;
    const [left, right] = [2 * own, Math.min(2 * own + 1, nodes.length - 1)];
    siblings.unshift(nodes[isRight ? left : right]!);
    directions.unshift(isRight ? "left" : "right");
    own = isRight ? right : left;
  }
  return { value: values[own]!, proof: { siblings, directions } };
}

Deno.test("verifyInclusion() refuses every phantom index, whatever count is claimed", () => {
  let foldToRoot = 0;
  for (let count = 1; count <= SIZE_MAX; count++) {
    const values = golden.values.slice(0, count);
    const levels = levelsOf(values);
    const root = levels.at(-1)![0]!;
    const width = 2 ** treeHeight(count);
    for (let index = count; index < width; index++) {
      const { value, proof } = phantomOf(values, levels, index);
      assert.ok(!verifyInclusion({ value, index, count, root }, proof), "not below the count");
      for (let claimed = index + 1; claimed <= width; claimed++) {
        const claim = { value, index, count: claimed, root };
        assert.ok(!verifyInclusion(claim, proof, { valuesDiffer: true }), JSON.stringify(claim));
        // If the same value may occur twice, such a proof holds.
        if (claimed === width && verifyInclusion(claim, proof)) foldToRoot++;
      }
    }
  }
  assert.ok(foldToRoot > 700, "phantoms fold to the root: it is not their hashes that are refused");
});
