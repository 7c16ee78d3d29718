/** Receipts of erasures, which Python and OpenSSL signed; with the server's verdict on changes. */

import assert from "node:assert/strict";
import { type ReceiptOptions, verifyReceipt } from "../../../sdk/src/verify/mod.ts";
import {
  parseReceipt,
  verifyReceipt as serverVerifies,
} from "../../../src/domain/erasure/receipt.ts";
import golden from "../../golden/audit/receipts.json" with { type: "json" };
import smallOrder from "../../golden/audit/small_order.json" with { type: "json" };

const publicKey = golden.public_key;
const receipts = golden.receipts.map(({ fields, signature }) => ({
  format: 1,
  scope: "erasure",
  ...fields,
  signature,
  public_key: publicKey,
}));
const [receipt] = receipts as [typeof receipts[number]];

function stepOf(document: unknown, options: Partial<ReceiptOptions> = {}): string {
  const verdict = verifyReceipt(document, { publicKey, ...options });
  return verdict.ok ? "ok" : verdict.step;
}

Deno.test("verifyReceipt() accepts what Python wrote and OpenSSL signed, in every form of answer", () => {
  for (const receipt of receipts) {
    const { signature: _, public_key: __, ...erasure } = receipt;
    const answer = { ok: true, tombstone: { id: "tmb_1", state: "completed", receipt } };
    const bytes = new TextEncoder().encode(JSON.stringify(answer));
    // The order of the fields in the document means nothing.
    const turned = Object.fromEntries(Object.entries(receipt).reverse());
    for (const form of [receipt, answer, JSON.stringify(receipt), bytes, turned]) {
      assert.deepEqual(verifyReceipt(form, { publicKey }), { ok: true, erasure });
    }
  }
});

Deno.test("verifyReceipt() gives the server's verdict on every changed field, and refuses each", () => {
  for (const receipt of receipts) {
    for (const [name, value] of Object.entries(receipt)) {
      const others: unknown[] = [undefined, null, "", 0, "0", [], {}, "\ud800", `${value} `];
      others.push(typeof value === "number" ? value + 1 : flipLast(String(value)));
      for (const other of others) {
        if (other === value) continue;
        const changed: Record<string, unknown> = { ...receipt, [name]: other };
        if (other === undefined) delete changed[name];
        const parsed = parseReceipt(changed);
        const isRight = typeof parsed !== "string" && serverVerifies(parsed);
        assert.equal(stepOf(changed) === "ok", isRight, `${name}: ${other}`);
        assert.ok(!isRight, `${name}: ${other}`);
      }
    }
  }
  assert.equal(stepOf({ ...receipt, note: "unknown" }), "form");
});

function flipLast(text: string): string {
  return text.slice(0, -1) + (text.at(-1) === "0" ? "1" : "0");
}

Deno.test("a receipt is held against the key, stream, instance and environment", () => {
  const { key: stream, instance_id: instanceId, environment } = receipt;
  const other = smallOrder.large_order.find((key) => key !== publicKey)!;
  const cases: [Partial<ReceiptOptions>, string][] = [
    [{ stream, instanceId, environment }, "ok"],
    [{ publicKey: [other, publicKey] }, "ok"],
    [{ publicKey: other }, "signature"],
    [{ publicKey: undefined as unknown as string }, "key"],
    [{ stream: "order:another" }, "event"],
    [{ instanceId: "another" }, "anchor"],
    [{ environment: "nowhere" }, "anchor"],
  ];
  for (const [options, step] of cases) assert.equal(stepOf(receipt, options), step);
});

Deno.test("what is no receipt is refused by its form, and nothing throws", () => {
  const none = [null, 5, "{", "[]", [], {}, { scope: "erasure" }, { tombstone: {} }];
  for (const document of [...none, { tombstone: { receipt: [] } }, { ok: true, event: {} }]) {
    assert.equal(stepOf(document), "form");
  }
});
