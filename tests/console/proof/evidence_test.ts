/** What a document is taken for, whose it says it is, and how far its verification came. */

import assert from "node:assert/strict";
import {
  isTrustworthyKey,
  judge,
  judgeForm,
  ownerNamed,
} from "../../../console/src/proof/evidence.ts";
import { stepRows } from "../../../console/src/proof/steps.ts";
import golden from "../../golden/audit/bundles.json" with { type: "json" };

const [sample] = golden.valid.filter(({ name }) => name === "last of 70 events");
const bundle = sample!.bundle;
const publicKey = bundle.anchor.public_key;

Deno.test("evidence names its owner, as text, as bytes and parsed; other documents name none", () => {
  const { instance_id: instanceId, environment } = bundle.anchor;
  const text = JSON.stringify(bundle);
  for (const document of [bundle, text, new TextEncoder().encode(text)]) {
    assert.deepEqual(ownerNamed(document), { instanceId, environment });
  }
  const receipt = { scope: "erasure", instance_id: "i1", environment: "test" };
  const owner = { instanceId: "i1", environment: "test" };
  assert.deepEqual(ownerNamed(receipt), owner);
  assert.deepEqual(ownerNamed({ ok: true, tombstone: { receipt } }), owner);
  for (const document of ["", "[]", "null", "{", '{"__proto__":{"anchor":{}}}', { tombstone: 1 }]) {
    assert.equal(ownerNamed(document), undefined);
  }
});

Deno.test("a document that is no evidence is refused for its form, though no key is known", () => {
  assert.equal(judgeForm(bundle), undefined);
  for (const document of ["", "{}", "[]", "<html>", new Uint8Array([0xff])]) {
    const judged = judgeForm(document)!;
    assert.deepEqual(stepRows(judged).map(({ state }) => state).slice(0, 3), [
      "holds",
      "does not hold",
      "not reached",
    ]);
  }
  assert.equal(judgeForm({ scope: "erasure" })!.kind, "receipt");
});

Deno.test("each refused bundle shows the step that failed, with no comparison behind it", () => {
  for (const { bundle, step } of golden.refused) {
    const judged = judge(bundle, { publicKey });
    const rows = stepRows(judged);
    const failed = rows.findIndex(({ state }) => state === "does not hold");
    assert.equal(rows[failed]!.step, step);
    for (const { step, state } of rows.slice(0, failed)) {
      assert.equal(state, step === "anchor" ? "not asked" : "holds");
    }
    const later = rows.slice(failed + 1).map(({ step }) => step);
    assert.ok(later.every((step) => judged.checks.every((check) => check.step !== step)));
  }
});

Deno.test("the step of what is meant holds only if the instance and the environment were said", () => {
  const { instance_id: instanceId, environment } = bundle.anchor;
  const anchorStep = (meant: { instanceId?: string; environment?: string }) =>
    stepRows(judge(bundle, { publicKey, ...meant })).find(({ step }) => step === "anchor")!.state;
  assert.equal(anchorStep({}), "not asked");
  assert.equal(anchorStep({ environment }), "asked in part");
  assert.equal(anchorStep({ instanceId }), "asked in part");
  assert.equal(anchorStep({ instanceId, environment }), "holds");
  assert.equal(anchorStep({ environment: `not ${environment}` }), "does not hold");
});

Deno.test("a key that is no point of the curve, or that anybody can sign for, is not trusted", () => {
  assert.ok(isTrustworthyKey(publicKey));
  // The neutral point; a point of order 4; y = 2, for which the equation of the curve has no x.
  for (const key of [`01${"00".repeat(31)}`, "00".repeat(32), `02${"00".repeat(31)}`]) {
    assert.ok(!isTrustworthyKey(key), key);
  }
});
