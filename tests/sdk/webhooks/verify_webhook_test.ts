/**
 * Deliveries are verified as Standard Webhooks' own library and OpenSSL would, and as the server
 * signs them. Everything else is refused, with its reason.
 */

import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { createHmac, randomBytes } from "node:crypto";
import { Webhook } from "standardwebhooks";
import { verifyWebhook, type WebhookOptions } from "../../../sdk/src/webhooks/mod.ts";
import { encodePayload, signatureHeaders } from "../../../src/domain/listener/webhook.ts";
import { createRandom } from "../../crash/random.ts";

const RAW =
  '{"key":"order:a","type":"was_placed","data":{"item":"größe ☃"},"metadata":{"actor":{"type":"user","id":"global"},"timestamp":1700000000}}';
const BODY = encodePayload({
  deliveryId: "dlv_1",
  listener: "hook",
  attempt: 2,
  tenant: { instanceId: "inst_1", environment: "test", number: 7 },
  event: { id: "000000000003", hash: "ab".repeat(32), raw: RAW, timestamp: 1_700_000_000 },
});
const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const NOW_MS = 1_800_000_000_999;

function now(): number {
  return NOW_MS;
}

type HeaderFields = Record<string, string>;

/** The headers that the server sends. */
function signed(secret: string | undefined = SECRET, sentMs = NOW_MS, body = BODY): HeaderFields {
  return signatureHeaders(body, { deliveryId: "dlv_1", secret, sentMs, prefix: "SVC" });
}

async function reasonOf(
  body: unknown,
  headers: HeaderFields,
  options: Partial<WebhookOptions> = {},
) {
  const verdict = await verifyWebhook(body as string, headers, { secret: SECRET, now, ...options });
  return verdict.ok ? "ok" : verdict.reason;
}

const SECRETS = {
  "whsec_ and base64": SECRET,
  "any other text": "not base64 at all, but größe enough",
  "text that only looks like base64": "c2VjcmV0c2VjcmV0c2VjcmV0",
  "whsec_ and no base64": "whsec_not base64, as one can see",
  "whsec_ and base64 of a wrong length": "whsec_AAAAAAAAAAAAAAAAA",
};

for (const [what, secret] of Object.entries(SECRETS)) {
  for (const scheme of ["standard", "body"] as const) {
    Deno.test(`verifyWebhook() accepts what the server signs by "${scheme}" with ${what}`, async () => {
      const headers = signed(secret);
      const bytes = new TextEncoder().encode(BODY);
      const options = { secret, scheme, now };
      const request = new Request("http://a.example", { method: "POST", body: BODY, headers });
      const verdicts = [
        await verifyWebhook(request, options),
        await verifyWebhook(BODY, headers, options),
        await verifyWebhook(bytes, new Headers(headers), options),
        await verifyWebhook(bytes.buffer, headers, options),
        await verifyWebhook(Buffer.from(BODY), upperCase(headers), options),
        await verifyWebhook(bytes.subarray(0), asLists(headers), options),
      ];
      for (const verdict of verdicts) {
        assert.deepEqual(verdict, { ok: true, delivery: JSON.parse(BODY) });
      }
    });
  }
}

function upperCase(headers: HeaderFields): HeaderFields {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]),
  );
}

function asLists(headers: HeaderFields): Record<string, string[]> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]]));
}

Deno.test("the types of a spec reach the event, which narrows on its type", async () => {
  interface Shop {
    readonly aggregates: {
      readonly order: {
        readonly state: { readonly total: number };
        readonly events: {
          readonly was_placed: { readonly item: string };
          readonly was_cancelled: { readonly reason: string };
        };
      };
    };
  }
  const verdict = await verifyWebhook<Shop>(BODY, signed(), { secret: SECRET, now });
  assert.ok(verdict.ok);
  const { event } = verdict.delivery;
  const key: `order:${string}` = event.key;
  assert.equal(key, "order:a");
  assert.equal(event.type === "was_placed" ? event.data.item : event.data.reason, "größe ☃");
});

Deno.test("verifyWebhook() names the reason of each refusal", async () => {
  const { "X-SVC-Signature": simple, ...standard } = signed();
  const without = (name: string) =>
    Object.fromEntries(Object.entries(standard).filter(([one]) => one !== name));
  const cases: [string, unknown, HeaderFields, Partial<WebhookOptions>?][] = [
    ["secret_missing", BODY, standard, { secret: "" }],
    ["secret_missing", BODY, standard, { secret: [] }],
    ["secret_missing", BODY, standard, { secret: ["", undefined as unknown as string] }],
    ["secret_missing", BODY, standard, { secret: undefined as unknown as string }],
    ["body_not_raw", JSON.parse(BODY), standard],
    ["body_not_raw", undefined, standard],
    ["body_not_raw", null, standard],
    ["signature_missing", BODY, {}],
    ["signature_missing", BODY, without("webhook-id")],
    ["signature_missing", BODY, without("webhook-timestamp")],
    ["signature_missing", BODY, without("webhook-signature")],
    ["signature_missing", BODY, { ...standard, "webhook-signature": "" }],
    ["signature_missing", BODY, standard, { scheme: "body" }],
    ["signature_missing", BODY, { "X-SVC-Signature": simple! }],
    ["signature_missing", BODY, signed(), { scheme: "body", headerPrefix: "ACME" }],
    ["signature_mismatch", `${BODY} `, standard],
    ["signature_mismatch", "", standard],
    ["signature_mismatch", `${BODY} `, signed(), { scheme: "body" }],
    ["signature_mismatch", BODY, { "X-SVC-Signature": simple!.toUpperCase() }, { scheme: "body" }],
    ["signature_mismatch", BODY, { ...standard, "webhook-id": "dlv_2" }],
    ["signature_mismatch", BODY, { ...standard, "webhook-timestamp": "1800000001" }],
    ["signature_mismatch", BODY, standard, { secret: "another secret, as long" }],
    ["timestamp_malformed", BODY, { ...standard, "webhook-timestamp": "soon" }],
    ["timestamp_malformed", BODY, { ...standard, "webhook-timestamp": "-1" }],
    ["timestamp_malformed", BODY, { ...standard, "webhook-timestamp": "1800000000.0" }],
    ["timestamp_malformed", BODY, { ...standard, "webhook-timestamp": "9".repeat(13) }],
    ["body_malformed", "{}", signed(SECRET, NOW_MS, "{}")],
    ["body_malformed", "hello", signed(SECRET, NOW_MS, "hello")],
    ["body_malformed", "null", signed(SECRET, NOW_MS, "null")],
    ["body_malformed", '{"id":"x","event":{}}', signed(SECRET, NOW_MS, '{"id":"x","event":{}}')],
  ];
  for (const [reason, body, headers, options] of cases) {
    assert.equal(await reasonOf(body, headers, options), reason, JSON.stringify(headers));
  }
});

Deno.test("a delivery that was sent without a signature is refused", async () => {
  const unsigned = signatureHeaders(BODY, {
    deliveryId: "dlv_1",
    secret: undefined,
    sentMs: NOW_MS,
    prefix: "SVC",
  });
  assert.equal(await reasonOf(BODY, unsigned), "signature_missing");
});

Deno.test("a replayed request cannot get around its time by the header that does not sign it", async () => {
  const later = () => NOW_MS + 3_600_000;
  const { "webhook-signature": _, ...stripped } = signed();
  assert.equal(await reasonOf(BODY, signed(), { now: later }), "timestamp_too_old");
  assert.equal(await reasonOf(BODY, stripped, { now: later }), "signature_missing");
});

Deno.test("a request whose body somebody has read is refused, not thrown", async () => {
  const request = new Request("http://a.example", { method: "POST", body: BODY });
  await request.text();
  const verdict = await verifyWebhook(request, { secret: SECRET });
  assert.equal(!verdict.ok && verdict.reason, "body_not_raw");
  const express = { headers: signed(), body: JSON.parse(BODY) } as unknown as Request;
  const other = await verifyWebhook(express, { secret: SECRET });
  assert.equal(!other.ok && other.reason, "body_not_raw");
});

Deno.test("the time of sending may differ from now by the tolerance, in both directions", async () => {
  const cases = [
    [-301, undefined, "timestamp_too_old"],
    [-300, undefined, "ok"],
    [300, undefined, "ok"],
    [301, undefined, "timestamp_too_new"],
    [-10, 10, "ok"],
    [-11, 10, "timestamp_too_old"],
    [1, 0, "timestamp_too_new"],
    [0, 0, "ok"],
    [-1e6, Infinity, "ok"],
    [0, NaN, "timestamp_too_old"],
  ] as const;
  for (const [seconds, toleranceSeconds, reason] of cases) {
    const headers = signed(SECRET, NOW_MS + seconds * 1000);
    assert.equal(await reasonOf(BODY, headers, { toleranceSeconds }), reason, `${seconds} s`);
  }
});

Deno.test("while a secret is rotated, both are accepted, and no third one", async () => {
  const secret = ["the secret of tomorrow", "the secret of today"];
  for (const scheme of ["standard", "body"] as const) {
    for (const one of secret) {
      assert.equal(await reasonOf(BODY, signed(one), { secret, scheme }), "ok");
    }
    const other = signed("the secret of yesterday");
    assert.equal(await reasonOf(BODY, other, { secret, scheme }), "signature_mismatch");
  }
  // Standard Webhooks has several signatures in one header, and others than v1.
  const headers = signed(secret[0]);
  const both = `v1a,AAAA ${signed(secret[1])["webhook-signature"]} ${headers["webhook-signature"]}`;
  assert.equal(await reasonOf(BODY, { ...headers, "webhook-signature": both }, { secret }), "ok");
});

Deno.test("a changed body is refused at whichever byte", async () => {
  const bytes = new TextEncoder().encode(BODY);
  for (let at = 0; at < bytes.length; at++) {
    const changed = bytes.with(at, bytes[at]! ^ 1);
    assert.equal(await reasonOf(changed, signed()), "signature_mismatch");
    assert.equal(await reasonOf(changed, signed(), { scheme: "body" }), "signature_mismatch");
  }
});

Deno.test("a secret has the bytes that the server reads in it, whatever stands behind whsec_", async () => {
  const letters = ["A", "Z", "/", "=", "-"];
  let texts = [""];
  const all: string[] = [];
  for (let length = 1; length <= 5; length++) {
    texts = texts.flatMap((text) => letters.map((letter) => text + letter));
    all.push(...texts);
  }
  for (const text of all) {
    const secret = `whsec_${text}`;
    assert.equal(await reasonOf(BODY, signed(secret), { secret }), "ok", secret);
  }
});

Deno.test("verifyWebhook() and the library of Standard Webhooks agree on 4,000 changed requests", async () => {
  const seed = crypto.getRandomValues(new Uint32Array(1))[0]!;
  const random = createRandom(seed);
  const found = { ok: 0, refused: 0 };
  for (let round = 0; round < 4_000; round++) {
    const secret = `whsec_${randomBytes(24).toString("base64")}`;
    const library = new Webhook(secret);
    const sent = new Date(Date.now() + 1000 * random.pick([0, 0, 0, -250, 250, -400, 400]));
    let body = BODY.replace("hook", `hook ${random.below(1e6)}`);
    const headers: HeaderFields = {
      "webhook-id": "dlv_1",
      "webhook-timestamp": String(Math.floor(sent.getTime() / 1000)),
      "webhook-signature": library.sign("dlv_1", sent, body),
    };
    const part = random.pick(["none", "body", ...Object.keys(headers)]);
    if (part === "body") body = otherDigit(body, random.below(body.length));
    else if (part !== "none") {
      headers[part] = otherDigit(headers[part]!, random.below(headers[part]!.length));
    }
    const verdict = await verifyWebhook(body, headers, { secret });
    let isRight = true;
    try {
      library.verify(body, headers);
    } catch {
      isRight = false;
    }
    assert.equal(
      verdict.ok,
      isRight,
      `seed ${seed}: ${JSON.stringify({ headers, part, verdict })}`,
    );
    found[verdict.ok ? "ok" : "refused"]++;
  }
  assert.ok(found.ok > 500 && found.refused > 500, JSON.stringify(found));
});

function otherDigit(text: string, at: number): string {
  return text.slice(0, at) + (text[at] === "7" ? "3" : "7") + text.slice(at + 1);
}

const openssl = await opensslVersion();
if (openssl === undefined) console.log("SKIPPED: signatures by OpenSSL: there is no openssl");

Deno.test({
  name: "verifyWebhook() accepts what OpenSSL signs, in both forms",
  ignore: openssl === undefined,
  async fn() {
    for (const length of [16, 32, 64, 65, 200]) {
      const key = randomBytes(length);
      const time = String(Math.floor(NOW_MS / 1000));
      const macs = [
        await opensslMac(key, `dlv_1.${time}.${BODY}`),
        await opensslMac(key, BODY),
      ];
      const headers = {
        "webhook-id": "dlv_1",
        "webhook-timestamp": time,
        "webhook-signature": `v1,${macs[0]!.toString("base64")}`,
      };
      const secret = `whsec_${key.toString("base64")}`;
      assert.equal(await reasonOf(BODY, headers, { secret }), "ok");
      // The secret of the other form is text.
      const text = key.toString("hex");
      const mac = await opensslMac(Buffer.from(text), BODY);
      const simple = { "x-svc-signature": mac.toString("hex") };
      assert.equal(await reasonOf(BODY, simple, { secret: text, scheme: "body" }), "ok");
      assert.equal(mac.toString("hex"), createHmac("sha256", text).update(BODY).digest("hex"));
      const wrong = { "x-svc-signature": macs[1]!.toString("hex") };
      assert.equal(
        await reasonOf(BODY, wrong, { secret: text, scheme: "body" }),
        "signature_mismatch",
      );
    }
  },
});

async function opensslVersion(): Promise<string | undefined> {
  try {
    const { stdout } = await new Deno.Command("openssl", { args: ["version"] }).output();
    return new TextDecoder().decode(stdout);
  } catch {
    return undefined;
  }
}

async function opensslMac(key: Buffer, text: string): Promise<Buffer> {
  const child = new Deno.Command("openssl", {
    args: [
      "dgst",
      "-sha256",
      "-mac",
      "HMAC",
      "-macopt",
      `hexkey:${key.toString("hex")}`,
      "-binary",
    ],
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(text));
  await writer.close();
  return Buffer.from((await child.output()).stdout);
}
