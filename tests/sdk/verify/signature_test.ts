/**
 * Signatures have the server's verdict, also where implementations of Ed25519 differ: keys with a
 * part of small order, numbers beyond the order, encodings that are not canonical.
 */

import assert from "node:assert/strict";
import { Point } from "@noble/ed25519";
import { createHash } from "node:crypto";
import { isSigned } from "../../../sdk/src/verify/signature.ts";
import { verifyText } from "../../../src/domain/audit/signature.ts";
import anchors from "../../golden/audit/anchors.json" with { type: "json" };
import golden from "../../golden/audit/small_order.json" with { type: "json" };

const { n } = Point.CURVE();

/** The verdict of the client, which must be the server's. */
function verdict(public_key: string, signature: string, payload: string): boolean {
  const own = isSigned({ public_key, signature, payload });
  assert.equal(own, verifyText(public_key, signature, payload), `${public_key} ${signature}`);
  return own;
}

function littleEndian(number: bigint): string {
  return number.toString(16).padStart(64, "0").match(/../g)!.reverse().join("");
}

function challenge(r: string, key: string, text: string): bigint {
  const hash = createHash("sha512").update(r, "hex").update(key, "hex").update(text).digest();
  return BigInt(`0x${hash.reverse().toString("hex")}`) % n;
}

const small = golden.small_order.flatMap((hex) => {
  try {
    return [Point.fromHex(hex)];
  } catch {
    return [];
  }
});

Deno.test("a signature by OpenSSL holds, and with any bit turned it does not", () => {
  const { public_key, instance: { payload, signature } } = anchors;
  assert.ok(verdict(public_key, signature, payload));
  assert.ok(!verdict(public_key, signature, `${payload} `));
  for (let bit = 0; bit < 512; bit++) {
    const bytes = Uint8Array.fromHex(signature);
    bytes[bit >> 3]! ^= 1 << (bit & 7);
    assert.ok(!verdict(public_key, bytes.toHex(), payload), `bit ${bit}`);
  }
});

Deno.test("the same number plus the order of the group is not the same signature", () => {
  const { public_key, instance: { payload, signature } } = anchors;
  const s = BigInt(`0x${signature.slice(64).match(/../g)!.reverse().join("")}`);
  for (const number of [s + n, s + 2n * n, n, n - 1n, 0n]) {
    assert.ok(!verdict(public_key, signature.slice(0, 64) + littleEndian(number), payload));
  }
});

Deno.test("keys and points with a part of small order have the server's verdict", () => {
  assert.ok(small.length >= 8);
  let [accepted, refused] = [0, 0];
  for (const ofKey of small) {
    for (const ofPoint of small) {
      for (let round = 0n; round < 4n; round++) {
        const [secret, nonce] = [7n + round, 11n + round];
        const key = Point.BASE.multiply(secret).add(ofKey).toHex();
        const r = Point.BASE.multiply(nonce).add(ofPoint).toHex();
        const text = `text ${round}`;
        const s = (nonce + challenge(r, key, text) * secret) % n;
        verdict(key, r + littleEndian(s), text) ? accepted++ : refused++;
      }
    }
  }
  assert.ok(accepted >= 4 && refused > 100, `${accepted}, ${refused}`);
});

Deno.test("nobody has signed under a key of small order, however it is written", () => {
  for (const key of golden.small_order) {
    for (const r of golden.small_order) {
      for (let number = 0; number < 8; number++) {
        assert.ok(!verdict(key, r + "00".repeat(32), `text ${number}`));
      }
    }
  }
});

Deno.test("other keys of the literature have the server's verdict, which is no", () => {
  for (const key of golden.large_order) assert.ok(!verdict(key, "00".repeat(64), "text"));
});
