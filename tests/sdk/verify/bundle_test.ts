/**
 * Bundles are verified as the golden vectors say, which Python and OpenSSL made, and held against
 * what the verifier expects. Nothing that a document holds makes the verification throw.
 */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { type BundleOptions, verifyBundle, type VerifyCheck } from "../../../sdk/src/verify/mod.ts";
import golden from "../../golden/audit/bundles.json" with { type: "json" };
import smallOrder from "../../golden/audit/small_order.json" with { type: "json" };

const encoder = new TextEncoder();
const [sample] = golden.valid.filter(({ name }) => name === "last of 70 events");
const bundle = sample!.bundle;
const publicKey = bundle.anchor.public_key;

function stepOf(document: unknown, options: Partial<BundleOptions> = {}): string {
  const verdict = verifyBundle(document, { publicKey, ...options });
  return verdict.ok ? "ok" : verdict.step;
}

function bytesOf(document: unknown): Uint8Array {
  return encoder.encode(JSON.stringify(document));
}

for (const { name, bundle } of golden.valid) {
  Deno.test(`verifyBundle() accepts: ${name}`, () => {
    const verdict = verifyBundle(bundle, { publicKey });
    assert.ok(verdict.ok, JSON.stringify(verdict));
    assert.equal(verdict.proven.raw, bundle.event.raw);
    assert.deepEqual(verdict.proven.event, JSON.parse(bundle.event.raw));
    assert.equal(stepOf(bytesOf(bundle)), "ok");
    assert.equal(stepOf(JSON.stringify(bundle)), "ok");
  });
}

for (const { name, step, bundle } of golden.refused) {
  Deno.test(`verifyBundle() refuses, at "${step}": ${name}`, () => {
    const verdict = verifyBundle(bundle, { publicKey });
    assert.ok(!verdict.ok);
    assert.equal(verdict.step, step);
    assert.ok(verdict.message.length > 10);
    assert.equal(stepOf(bytesOf(bundle)), step);
  });
}

Deno.test("what is proven is what the signature leads to, and nothing else", () => {
  const { event, stream, anchor } = bundle;
  const verdict = verifyBundle(bundle, { publicKey });
  assert.deepEqual(verdict, {
    ok: true,
    proven: {
      stream: stream.key,
      index: event.index,
      raw: event.raw,
      event: JSON.parse(event.raw),
      hash: event.hash,
      anchor: {
        format: 2,
        merkle_root: anchor.merkle_root,
        public_key: anchor.public_key,
        instance_id: anchor.instance_id,
        environment: anchor.environment,
        event_count: anchor.event_count,
        stream_count: anchor.stream_count,
        created_at: anchor.created_at,
      },
    },
  });
});

Deno.test("a bundle of format 1 proves neither an instance nor a time", () => {
  const old = golden.valid.filter(({ bundle }) => !("format" in bundle));
  assert.ok(old.length > 0);
  for (const { bundle } of old) {
    const verdict = verifyBundle(bundle, { publicKey });
    assert.ok(verdict.ok);
    const { merkle_root, public_key } = bundle.anchor;
    assert.deepEqual(verdict.proven.anchor, { format: 1, merkle_root, public_key });
    assert.equal(stepOf(bundle, { environment: "production" }), "anchor");
    assert.equal(stepOf(bundle, { instanceId: bundle.anchor.instance_id }), "anchor");
  }
});

Deno.test("a bundle is held against the stream, index, key, instance and environment", () => {
  const { key: stream } = bundle.stream;
  const { index } = bundle.event;
  const { instance_id: instanceId, environment } = bundle.anchor;
  const other = smallOrder.large_order.find((key) => key !== publicKey)!;
  const cases: [Partial<BundleOptions>, string][] = [
    [{}, "ok"],
    [{ stream, index, instanceId, environment }, "ok"],
    [{ publicKey: [other, publicKey] }, "ok"],
    [{ publicKey: other }, "signature"],
    [{ publicKey: [other] }, "signature"],
    [{ stream: "order:south" }, "event"],
    [{ stream: "" }, "event"],
    [{ index: index - 1 }, "counts"],
    [{ index: 0 }, "counts"],
    [{ instanceId: "another" }, "anchor"],
    [{ environment: environment === "test" ? "production" : "test" }, "anchor"],
  ];
  for (const [options, step] of cases) {
    assert.equal(stepOf(bundle, options), step, JSON.stringify(options));
  }
});

Deno.test("the public key must be given, in its form, and must not be anybody's", () => {
  const keys: unknown[] = [
    undefined,
    null,
    "",
    [],
    [publicKey, ""],
    publicKey.toUpperCase(),
    publicKey.slice(2),
    5,
    {},
    ...smallOrder.small_order,
    // Not on the curve: y = 2.
    `02${"00".repeat(31)}`,
  ];
  for (const key of keys) {
    assert.equal(stepOf(bundle, { publicKey: key as string }), "key", JSON.stringify(key));
  }
});

Deno.test("what is no bundle at all is refused by its form, and nothing throws", () => {
  const texts = ["", " ", "null", "1", '"x"', "[]", "{}", "{", "\ufeff{}", "NaN", "[".repeat(500)];
  const documents: unknown[] = [
    ...texts,
    ...texts.map((text) => encoder.encode(text)),
    ...[undefined, null, 1, true, [], {}, () => {}, Symbol("x"), 5n],
    Uint8Array.of(0xff, 0xfe),
    bytesOf(bundle).with(20, 0xff),
    encoder.encode(`\ufeff${JSON.stringify(bundle)}`),
    ...["event", "stream", "stream_proof", "instance_proof", "anchor"].flatMap((part) =>
      [null, [], 1, "x", {}].map((value) => ({ ...bundle, [part]: value }))
    ),
    { ...bundle, event: { ...bundle.event, raw: "\ud800" } },
    { ...bundle, event: { ...bundle.event, index: 1e300 } },
    Object.create(bundle),
    JSON.stringify(bundle).replace('"index":69', '"index":1e999'),
  ];
  for (const document of documents) assert.equal(stepOf(document), "form");
});

/** The comparisons of a verification, and its verdict, which must be the one without them. */
function checksOf(document: unknown, options: Partial<BundleOptions> = {}): VerifyCheck[] {
  const checks: VerifyCheck[] = [];
  const onCheck = (check: VerifyCheck) => checks.push(check);
  const verdict = verifyBundle(document, { publicKey, ...options, onCheck });
  assert.deepEqual(verdict, verifyBundle(document, { publicKey, ...options }));
  return checks;
}

Deno.test("every step tells what it has computed, and what that must be", () => {
  const { event, stream, anchor } = bundle;
  const checks = checksOf(bundle, {
    stream: stream.key,
    index: event.index,
    environment: anchor.environment,
  });
  const steps = [...new Set(checks.map(({ step }) => step))];
  assert.deepEqual(steps, [
    "key",
    "form",
    "event",
    "counts",
    "chain",
    "stream_proof",
    "instance_proof",
    "anchor",
    "signature",
  ]);
  const equal = checks.filter(({ computed, expected }) => computed === expected);
  const values = equal.map(({ step, computed }) => [step, computed]);
  const hash = createHash("sha256").update(event.prev_hash + event.raw).digest("hex");
  for (
    const value of [
      ["event", stream.key],
      ["counts", String(event.index)],
      ["chain", hash],
      ["stream_proof", stream.merkle_root],
      ["instance_proof", anchor.merkle_root],
      ["anchor", anchor.environment],
      ["signature", anchor.public_key],
      ["signature", anchor.signature.slice(0, 64)],
    ]
  ) assert.ok(values.some((seen) => seen.join() === value.join()), value.join(": "));
});

Deno.test("the last comparison that is told of a changed event shows both hashes", () => {
  const raw = bundle.event.raw.replace('"data":{', '"data":{"more":1,');
  const last = checksOf({ ...bundle, event: { ...bundle.event, raw } }).at(-1)!;
  const hash = createHash("sha256").update(bundle.event.prev_hash + raw).digest("hex");
  const [step, what] = ["chain", "chain hash"];
  assert.deepEqual(last, { step, what, computed: hash, expected: bundle.event.hash });
});

Deno.test("telling comparisons changes no verdict", () => {
  for (const { bundle } of [...golden.valid, ...golden.refused]) checksOf(bundle);
});
