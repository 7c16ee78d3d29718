/** Receipts of erasures: an oracle (Python, OpenSSL) made the payloads and signatures. */

import assert from "node:assert/strict";
import {
  type ErasureFields,
  type ErasureReceipt,
  findReceipt,
  parseReceipt,
  receiptPayload,
  signReceipt,
  verifyReceipt,
} from "../../../src/domain/erasure/receipt.ts";
import golden from "../../golden/audit/receipts.json" with { type: "json" };

const KEY = { private_key: golden.private_key, public_key: golden.public_key };

async function receiptOf(fields: ErasureFields): Promise<ErasureReceipt> {
  return await signReceipt(fields, KEY);
}

Deno.test("the payload of a receipt is the oracle's, to the letter, and so is the signature", async () => {
  for (const { fields, payload, signature } of golden.receipts) {
    assert.equal(receiptPayload(fields), payload);
    const receipt = await receiptOf(fields);
    assert.equal(receipt.signature, signature);
    assert.equal(receipt.public_key, golden.public_key);
    assert.ok(verifyReceipt(receipt));
    assert.deepEqual(parseReceipt(JSON.parse(JSON.stringify(receipt))), receipt);
  }
});

Deno.test("a receipt of which any field was changed does not verify, or is none", async () => {
  const receipt = await receiptOf(golden.receipts[0]!.fields);
  for (const [name, value] of Object.entries(receipt)) {
    const others = typeof value === "number" ? [value + 1] : [flipLast(value as string)];
    for (const other of others) {
      const changed = parseReceipt({ ...receipt, [name]: other });
      const isRefused = typeof changed === "string" || !verifyReceipt(changed);
      assert.ok(isRefused, `${name}: ${JSON.stringify(other)}`);
    }
    const { [name as keyof typeof receipt]: _, ...without } = receipt;
    assert.equal(parseReceipt(without), name);
  }
});

/** Another text of the same form. */
function flipLast(text: string): string {
  const last = text.at(-1) === "0" ? "1" : "0";
  return text.slice(0, -1) + last;
}

Deno.test("parseReceipt() names the field that is not what it must be", async () => {
  const receipt = await receiptOf(golden.receipts[0]!.fields);
  const wrong: Record<string, unknown> = {
    format: 2,
    scope: "instance",
    key: "",
    reason: "\ud800",
    legal_basis: 5,
    executed_at: "yesterday",
    event_count: 1.5,
    erased_count: -1,
    tip: "AB".repeat(32),
    signature: "00",
    note: "unknown",
  };
  for (const [name, value] of Object.entries(wrong)) {
    assert.equal(parseReceipt({ ...receipt, [name]: value }), name);
  }
  assert.equal(parseReceipt([]), "the document");
});

Deno.test("findReceipt() finds a receipt by itself and in the answer that gave it, and no bundle", async () => {
  const receipt = await receiptOf(golden.receipts[0]!.fields);
  assert.equal(findReceipt(receipt), receipt);
  assert.equal(findReceipt({ ok: true, tombstone: { id: "x", receipt } }), receipt);
  assert.equal(findReceipt({ ok: true, tombstone: { id: "x" } }), undefined);
  assert.equal(findReceipt({ ok: true, format: 2, event: {} }), undefined);
});
