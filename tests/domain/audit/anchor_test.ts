/**
 * Anchors. An oracle made the payloads and signatures, with a key of RFC 8032. See
 * docs/reference/audit.md.
 */

import assert from "node:assert/strict";
import { verifyAsync } from "@noble/ed25519";
import {
  instancePayload,
  platformPayload,
  signInstanceAnchor,
  signPlatformAnchor,
  verifyInstanceAnchor,
  verifyOldAnchor,
  verifyPlatformAnchor,
} from "../../../src/domain/audit/anchor.ts";
import { verifyText } from "../../../src/domain/audit/signature.ts";
import golden from "../../golden/audit/anchors.json" with { type: "json" };

const KEY = { private_key: golden.private_key, public_key: golden.public_key };
const { instance, platform, format_1: old } = golden;

Deno.test("the payloads are the oracle's, to the letter", () => {
  assert.equal(instancePayload(instance.fields), instance.payload);
  assert.equal(platformPayload(platform.fields), platform.payload);
});

Deno.test("a signed anchor of an instance has the oracle's signature, and the contract's fields", async () => {
  const anchor = await signInstanceAnchor("a1", instance.fields, KEY);
  assert.equal(anchor.signature, instance.signature);
  assert.deepEqual(Object.keys(anchor), [
    "format",
    "id",
    "instance_id",
    "environment",
    "merkle_root",
    "signature",
    "public_key",
    "event_count",
    "stream_count",
    "created_at",
  ]);
  assert.ok(verifyInstanceAnchor(anchor));
});

Deno.test("a signed anchor of the platform has the oracle's signature", async () => {
  const anchor = await signPlatformAnchor("p1", platform.fields, KEY);
  assert.equal(anchor.signature, platform.signature);
  assert.ok(verifyPlatformAnchor(anchor));
});

/** Every variant with one field replaced by a value of the same form. */
function* substituted<T extends object>(anchor: T, except: readonly string[]): Generator<T> {
  for (const [field, value] of Object.entries(anchor)) {
    if (except.includes(field)) continue;
    yield { ...anchor, [field]: typeof value === "number" ? value + 1 : turned(String(value)) };
    if (typeof value === "number") yield { ...anchor, [field]: value - 1 };
  }
}

function turned(text: string): string {
  return (text[0] === "a" ? "b" : "a") + text.slice(1);
}

Deno.test("an anchor with any signed field replaced no longer verifies", async () => {
  const ofInstance = await signInstanceAnchor("a1", instance.fields, KEY);
  let refused = 0;
  for (const anchor of substituted(ofInstance, ["format", "id"])) {
    assert.ok(!verifyInstanceAnchor(anchor), JSON.stringify(anchor));
    refused++;
  }
  const ofPlatform = await signPlatformAnchor("p1", platform.fields, KEY);
  for (const anchor of substituted(ofPlatform, ["format", "id"])) {
    assert.ok(!verifyPlatformAnchor(anchor), JSON.stringify(anchor));
    refused++;
  }
  assert.equal(refused, 10 + 7);
});

Deno.test("an anchor of format 1 is signed over its root alone", async () => {
  assert.ok(verifyOldAnchor(old));
  assert.ok(!verifyOldAnchor({ ...old, merkle_root: turned(old.merkle_root) }));
  const anchor = await signInstanceAnchor("a1", { ...instance.fields }, KEY);
  assert.ok(!verifyOldAnchor(anchor), "a signature of format 2 is none of format 1");
  assert.ok(!verifyInstanceAnchor({ ...anchor, signature: old.signature }));
});

Deno.test("every signature with one of its 512 bits turned is refused, by both libraries", async () => {
  const text = new TextEncoder().encode(instance.payload);
  const publicKey = Uint8Array.fromHex(KEY.public_key);
  for (let bit = 0; bit < 512; bit++) {
    const signature = Uint8Array.fromHex(instance.signature);
    signature[bit >> 3]! ^= 1 << (bit & 7);
    assert.ok(!verifyText(KEY.public_key, signature.toHex(), instance.payload));
    // Only for some of them, because this is slow.
    if (bit % 16 === 0) {
      assert.ok(!await verifyAsync(signature, text, publicKey).catch(() => false));
    }
  }
});

Deno.test("a key that is no point verifies nothing, and neither does a signature cut short", () => {
  const { payload, signature } = instance;
  assert.ok(verifyText(KEY.public_key, signature, payload));
  for (const key of ["ff".repeat(32), "00".repeat(32), KEY.public_key.slice(2), ""]) {
    assert.ok(!verifyText(key, signature, payload), key);
  }
  assert.ok(!verifyText(KEY.public_key, signature.slice(2), payload));
  assert.ok(!verifyText(KEY.public_key, "", payload));
  // The key used last is cached: it must not stand in for another one.
  assert.ok(verifyText(KEY.public_key, signature, payload));
});
