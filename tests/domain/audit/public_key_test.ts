/** Keys for which anybody can sign, from the literature: the golden file names the source. */

import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { createPublicKey, verify } from "node:crypto";
import { isSmallOrder } from "../../../src/domain/audit/public_key.ts";
import { verifyText } from "../../../src/domain/audit/signature.ts";
import golden from "../../golden/audit/small_order.json" with { type: "json" };

/** The verdict of the runtime alone. */
function runtimeVerifies(publicKey: string, signature: string, message: Uint8Array): boolean {
  const x = Buffer.from(publicKey, "hex").toString("base64url");
  const key = createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" });
  return verify(undefined, message, key, Uint8Array.fromHex(signature));
}

Deno.test("all 14 encodings of the 8 points of small order are known, in either case", () => {
  assert.equal(new Set(golden.small_order).size, 14);
  for (const key of golden.small_order) {
    assert.ok(isSmallOrder(key), key);
    assert.ok(isSmallOrder(key.toUpperCase()), key);
  }
});

Deno.test("keys of other points are none of them, also such that differ in one bit", () => {
  for (const key of golden.large_order) assert.ok(!isSmallOrder(key), key);
  for (const key of golden.small_order) {
    for (let bit = 8; bit < 255; bit++) {
      const bytes = Uint8Array.fromHex(key);
      bytes[bit >> 3]! ^= 1 << (bit & 7);
      assert.ok(!isSmallOrder(bytes.toHex()), bytes.toHex());
    }
  }
});

Deno.test("what holds under the neutral point is a signature of nobody, and is refused", () => {
  const neutral = golden.small_order[0]!;
  const forged = neutral + "00".repeat(32);
  const text = "any text at all";
  assert.ok(runtimeVerifies(neutral, forged, new TextEncoder().encode(text)));
  assert.ok(!verifyText(neutral, forged, text));
});

Deno.test("no signature that is made of small points alone holds for any text", () => {
  for (const key of golden.small_order) {
    for (const point of golden.small_order) {
      for (const text of ["a", "b", "c", "d", "e", "f", "g", "h"]) {
        assert.ok(!verifyText(key, point + "00".repeat(32), text));
      }
    }
  }
});
