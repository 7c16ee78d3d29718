/** Inclusion proofs: the golden vectors of Python; every small claim has the server's verdict. */

import assert from "node:assert/strict";
import { type InclusionProof, verifyInclusion } from "../../../sdk/src/verify/mod.ts";
import { explainInclusion, merkleRoot, proveInclusion } from "../../../src/domain/audit/merkle.ts";
import golden from "../../golden/audit/merkle.json" with { type: "json" };

const { values } = golden;

function stepOf(...[claim, proof, rules]: Parameters<typeof verifyInclusion>): string {
  const verdict = verifyInclusion(claim, proof, rules);
  return verdict.ok ? "ok" : verdict.step;
}

Deno.test("verifyInclusion() accepts the proofs that Python made, in both formats, for no other value", () => {
  for (const { format, count, index, ...proof } of golden.proofs) {
    const tree = golden.trees.find((one) => one.count === count)!;
    const root = format === 1 ? tree.root_format_1 : tree.root;
    const claim = { value: values[index]!, index, count, root };
    const rules = { format: format as 1 | 2, valuesDiffer: true };
    assert.equal(stepOf(claim, proof as InclusionProof, rules), "ok");
    const other = { ...claim, value: values[(index + 1) % 70]! };
    assert.notEqual(stepOf(other, proof as InclusionProof, rules), "ok");
    const wrong = { ...rules, format: 3 - format as 1 | 2 };
    assert.notEqual(stepOf(claim, proof as InclusionProof, wrong), "ok");
  }
});

Deno.test("verifyInclusion() gives the server's verdict on every index and count to 12 of every tree", () => {
  let [accepted, refused] = [0, 0];
  for (let size = 1; size <= 9; size++) {
    const leaves = values.slice(0, size);
    const root = merkleRoot(leaves);
    for (let at = 0; at < size; at++) {
      const proof = proveInclusion(leaves, at);
      for (let count = 0; count <= 12; count++) {
        for (let index = 0; index <= 12; index++) {
          for (const valuesDiffer of [false, true]) {
            const claim = { value: leaves[at]!, index, count, root };
            const isRight = explainInclusion(claim, proof, { valuesDiffer }) === undefined;
            assert.equal(stepOf(claim, proof, { valuesDiffer }) === "ok", isRight);
            isRight ? accepted++ : refused++;
          }
        }
      }
    }
  }
  assert.ok(accepted >= 90 && refused > 5_000, `${accepted}, ${refused}`);
});

Deno.test("a phantom index is refused where values differ, even if nobody signed the count", () => {
  const leaves = values.slice(0, 5);
  const root = merkleRoot(leaves);
  const { siblings } = proveInclusion(leaves, 4);
  const proof = { siblings, directions: ["left", "right", "left"] } as const;
  const claim = { value: leaves[4]!, index: 5, count: 6, root };
  assert.equal(stepOf(claim, proof, { valuesDiffer: true }), "proof");
  assert.equal(stepOf({ ...claim, count: 5 }, proof), "counts");
});

Deno.test("verifyInclusion() refuses by its form what is no claim and no proof", () => {
  const value = values[0]!;
  const claim = { value, index: 0, count: 1, root: golden.trees[0]!.root };
  const proof = { siblings: [], directions: [] };
  assert.equal(stepOf(claim, proof), "ok");
  const claims = [null, {}, { ...claim, value: value.toUpperCase() }, { ...claim, index: -1 }];
  const others = [{ ...claim, count: 1.5 }, { ...claim, root: "" }, { ...claim, index: "0" }];
  for (const one of [...claims, ...others]) {
    assert.equal(stepOf(one as typeof claim, proof), "form");
  }
  const proofs = [null, {}, { siblings: [""], directions: ["left"] }, {
    siblings: [],
    directions: 0,
  }];
  const more = [{ siblings: [value], directions: ["up"] }, { siblings: {}, directions: [] }];
  for (const one of [...proofs, ...more]) assert.equal(stepOf(claim, one as typeof proof), "form");
});
