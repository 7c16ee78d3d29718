/** Anchors of instances, of both formats, and of the platform: signed by OpenSSL, then changed. */

import assert from "node:assert/strict";
import { verifyAnchor, verifyPlatformAnchor } from "../../../sdk/src/verify/mod.ts";
import golden from "../../golden/audit/anchors.json" with { type: "json" };

const { public_key, instance, platform, format_1: old } = golden;
const options = { publicKey: public_key };
const ofInstance = { format: 2, id: "a1", ...instance.fields, ...signedBy(instance.signature) };
const ofPlatform = { format: 2, id: "p1", ...platform.fields, ...signedBy(platform.signature) };

function signedBy(signature: string) {
  return { signature, public_key };
}

Deno.test("verifyAnchor() accepts what OpenSSL signed, alone and in the server's answer", () => {
  const { signature: _, id: __, ...proven } = ofInstance;
  const forms = [ofInstance, { ok: true, anchor: ofInstance }, JSON.stringify(ofInstance)];
  for (const form of forms) {
    assert.deepEqual(verifyAnchor(form, options), { ok: true, anchor: proven });
  }
  const bytes = new TextEncoder().encode(JSON.stringify({ ok: true, anchor: ofInstance }));
  assert.ok(verifyAnchor(bytes, options).ok);
});

Deno.test("verifyAnchor() accepts format 1, which proves the root alone", () => {
  const { signature: _, ...proven } = old;
  assert.deepEqual(verifyAnchor(old, options), { ok: true, anchor: { format: 1, ...proven } });
  // Without its format, an anchor of format 2 is one of format 1, which signs another text.
  const { format: _format, ...without } = ofInstance;
  const verdict = verifyAnchor(without, options);
  assert.equal(!verdict.ok && verdict.step, "signature");
});

Deno.test("verifyPlatformAnchor() accepts what OpenSSL signed", () => {
  const { signature: _, id: __, format: ___, ...proven } = ofPlatform;
  assert.deepEqual(verifyPlatformAnchor(ofPlatform, options), { ok: true, anchor: proven });
  assert.ok(verifyPlatformAnchor({ ok: true, anchor: ofPlatform }, options).ok);
});

Deno.test("an anchor of which any signed field was changed is refused; its id is a mere name", () => {
  const anchors: [object, (anchor: unknown) => { readonly ok: boolean }][] = [
    [ofInstance, (anchor) => verifyAnchor(anchor, options)],
    [old, (anchor) => verifyAnchor(anchor, options)],
    [ofPlatform, (anchor) => verifyPlatformAnchor(anchor, options)],
  ];
  for (const [anchor, verify] of anchors) {
    for (const [name, value] of Object.entries(anchor)) {
      const others = typeof value === "number"
        ? [value + 1, value - 1, String(value), undefined]
        : [turned(value), `${value} `, value.slice(1), 5, undefined];
      for (const other of others) {
        const changed = { ...anchor, [name]: other };
        if (other === undefined) delete changed[name as keyof typeof changed];
        assert.equal(verify(changed).ok, name === "id", `${name}: ${other}`);
      }
    }
  }
});

/** Another text of the same form. */
function turned(text: string): string {
  return text.slice(0, -1) + (text.at(-1) === "0" ? "1" : "0");
}

Deno.test("an anchor is held against the instance and environment; neither kind passes as the other", () => {
  const { instance_id: instanceId, environment } = instance.fields;
  assert.ok(verifyAnchor(ofInstance, { ...options, instanceId, environment }).ok);
  for (const expected of [{ instanceId: "another" }, { environment: "production" }]) {
    const verdict = verifyAnchor(ofInstance, { ...options, ...expected });
    assert.equal(!verdict.ok && verdict.step, "anchor");
  }
  assert.ok(!verifyAnchor(ofPlatform, options).ok);
  assert.ok(!verifyPlatformAnchor(ofInstance, options).ok);
  assert.ok(!verifyPlatformAnchor(old, options).ok);
});

Deno.test("a value that would end or escape its quotes is refused by its form", () => {
  for (const value of ['a","environment":"production', "a\\", "a\n", "é", "", "x".repeat(257)]) {
    const verdict = verifyAnchor({ ...ofInstance, instance_id: value }, options);
    assert.equal(!verdict.ok && verdict.step, "form");
  }
});
