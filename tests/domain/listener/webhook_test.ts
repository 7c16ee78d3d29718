/** Payloads and signatures, checked by Node's crypto and by the Standard Webhooks library. */

import assert from "node:assert/strict";
import { createHmac, randomBytes } from "node:crypto";
import { Webhook } from "standardwebhooks";
import {
  deliveryHeaders,
  encodePayload,
  signatureHeaders,
} from "../../../src/domain/listener/webhook.ts";

const RAW =
  '{"key":"order:a","type":"was_placed","data":{"item":"größe","n":1.0},"metadata":{"timestamp":1700000000}}';
const PARTS = {
  deliveryId: "dlv_1",
  listener: "hook",
  attempt: 2,
  tenant: { instanceId: "inst_1", environment: "test", number: 7 },
  event: { id: "000000000003", hash: "ab".repeat(32), raw: RAW, timestamp: 1_700_000_000 },
} as const;

function signed(secret: string | undefined, body = encodePayload(PARTS), prefix = "SVC") {
  return signatureHeaders(body, { deliveryId: "dlv_1", secret, sentMs: Date.now(), prefix });
}

Deno.test("a payload has the fields of the contract, and the event's own bytes", () => {
  const body = encodePayload(PARTS);
  assert.deepEqual(JSON.parse(body), {
    id: "dlv_1",
    listener: "hook",
    attempt: 2,
    occurred_at: "2023-11-14T22:13:20.000Z",
    instance_id: "inst_1",
    environment: "test",
    event: {
      id: "000000000003",
      hash: "ab".repeat(32),
      key: "order:a",
      type: "was_placed",
      data: { item: "größe", n: 1 },
      metadata: { timestamp: 1_700_000_000 },
    },
  });
  assert.ok(body.includes(RAW.slice(1)), "the stored bytes are sent");
});

Deno.test("a payload may be a CloudEvent that says of which delivery it is, signed like the other", () => {
  const raw = RAW.replace('{"timestamp"', '{"actor":{"type":"user","id":"global"},"timestamp"');
  const parts = { ...PARTS, event: { ...PARTS.event, raw } };
  const body = encodePayload(parts, "cloudevents");
  assert.deepEqual(JSON.parse(body), {
    specversion: "1.0",
    id: "order:a/3",
    source: "/instances/inst_1/test",
    type: "order.was_placed",
    subject: "order:a",
    time: "2023-11-14T22:13:20.000Z",
    datacontenttype: "application/json",
    streamindex: 3,
    chainhash: "ab".repeat(32),
    actor: "user:global",
    deliveryid: "dlv_1",
    listener: "hook",
    attempt: 2,
    data: { item: "größe", n: 1 },
  });
  assert.equal(deliveryHeaders("cloudevents")["content-type"], "application/cloudevents+json");
  assert.equal(deliveryHeaders("daybook")["content-type"], "application/json");
  const expected = createHmac("sha256", "a shared secret, 1").update(body, "utf8").digest("hex");
  assert.equal(signed("a shared secret, 1", body)["X-SVC-Signature"], expected);
});

Deno.test("X-SVC-Signature is the hex HMAC-SHA256 over the exact body, under the prefix of the settings", () => {
  const body = encodePayload(PARTS);
  const expected = createHmac("sha256", "a shared secret, 1").update(body, "utf8").digest("hex");
  assert.equal(signed("a shared secret, 1")["X-SVC-Signature"], expected);
  assert.equal(signed("a shared secret, 1", body, "ACME")["X-ACME-Signature"], expected);
  assert.notEqual(signed("a shared secret, 1", body + " ")["X-SVC-Signature"], expected);
  assert.notEqual(signed("a shared secret, 2")["X-SVC-Signature"], expected);
});

for (
  const [is, secret, verifier] of [
    ["whsec_ and base64", `whsec_${randomBytes(24).toString("base64")}`, undefined],
    ["any other text, by its bytes", "not base64 at all, but long enough", "raw"],
    ["text that only looks like base64", "c2VjcmV0c2VjcmV0c2VjcmV0", "raw"],
  ] as const
) {
  Deno.test(`the library of Standard Webhooks accepts our signature with a secret of ${is}`, () => {
    const body = encodePayload(PARTS);
    const webhook = verifier ? new Webhook(secret, { format: verifier }) : new Webhook(secret);
    assert.deepEqual(webhook.verify(body, signed(secret)), JSON.parse(body));
  });
}

Deno.test("the library refuses a changed body, id, time or secret", () => {
  const secret = `whsec_${randomBytes(24).toString("base64")}`;
  const body = encodePayload(PARTS);
  const headers = signed(secret, body);
  const webhook = new Webhook(secret);
  for (let at = 0; at < body.length; at++) {
    const changed = body.slice(0, at) + (body[at] === "0" ? "1" : "0") + body.slice(at + 1);
    assert.throws(() => webhook.verify(changed, headers), `byte ${at}`);
  }
  assert.throws(() => webhook.verify(body, { ...headers, "webhook-id": "dlv_2" }));
  const later = String(Number(headers["webhook-timestamp"]) + 1);
  assert.throws(() => webhook.verify(body, { ...headers, "webhook-timestamp": later }));
  assert.throws(() => new Webhook(randomBytes(24).toString("base64")).verify(body, headers));
});

Deno.test("without a secret there is no signature of either kind, but an id and a time", () => {
  assert.deepEqual(Object.keys(signed(undefined)), ["webhook-id", "webhook-timestamp"]);
});
