/**
 * Offline verification of bundles and of pages of events. An oracle made them, good and bad. See
 * docs/reference/audit.md.
 */

import assert from "node:assert/strict";
import { judgeBundle } from "../../../scripts/verify_bundle.ts";
import { signInstanceAnchor } from "../../../src/domain/audit/anchor.ts";
import {
  BUNDLE_STEPS,
  type PageEntry,
  verifyBundle,
  verifyBundleBytes,
  verifyPage,
} from "../../../src/domain/audit/attestation.ts";
import { buildBundle } from "../../../src/domain/audit/bundle.ts";
import { extendChain } from "../../../src/domain/audit/chain.ts";
import { merkleRoot, proveInclusion } from "../../../src/domain/audit/merkle.ts";
import { startAuditOracle } from "../../support/audit_oracle.ts";

import anchors from "../../golden/audit/anchors.json" with { type: "json" };
import golden from "../../golden/audit/bundles.json" with { type: "json" };
import pages from "../../golden/audit/pages.json" with { type: "json" };

const encoder = new TextEncoder();
const [sample] = golden.valid.filter(({ name }) => name === "last of 70 events");
const bundle = sample!.bundle;
const publicKey = bundle.anchor.public_key;

function bytesOf(document: unknown): Uint8Array {
  return encoder.encode(JSON.stringify(document));
}

for (const { name, bundle } of golden.valid) {
  Deno.test(`verifyBundle() and the standalone verifier accept: ${name}`, () => {
    const verdict = verifyBundle(bundle);
    assert.ok(verdict.ok, JSON.stringify(verdict));
    assert.equal(judgeBundle(bytesOf(bundle)), "ok");
  });
}

for (const { name, step, bundle } of golden.refused) {
  Deno.test(`verifyBundle() and the standalone verifier refuse, at "${step}": ${name}`, () => {
    const verdict = verifyBundle(bundle);
    assert.ok(!verdict.ok);
    assert.equal(verdict.step, step);
    assert.ok(verdict.message.length > 10);
    assert.equal(judgeBundle(bytesOf(bundle)), step);
  });
}

Deno.test("the golden bundles fail at every step there is", () => {
  assert.deepEqual(new Set(golden.refused.map(({ step }) => step)), new Set(BUNDLE_STEPS));
});

Deno.test("a bundle is held against the stream, index and key that are expected", () => {
  const { key: stream } = bundle.stream;
  const { index } = bundle.event;
  const cases = [
    [{}, "ok"],
    [{ stream, index, publicKey }, "ok"],
    [{ stream: "order:south" }, "event"],
    [{ index: index - 1 }, "counts"],
    [{ index: 0 }, "counts"],
    [{ publicKey: "00".repeat(32) }, "signature"],
  ] as const;
  for (const [expected, step] of cases) {
    const verdict = verifyBundle(bundle, expected);
    assert.equal(verdict.ok ? "ok" : verdict.step, step);
    const { publicKey: key, ...rest } = { publicKey: undefined, ...expected };
    assert.equal(judgeBundle(bytesOf(bundle), { key, ...rest }), step);
  }
});

Deno.test("what is no bundle at all is refused by its form, and nothing throws", async () => {
  const texts = ["", " ", "null", "1", '"x"', "[]", "{}", "{", "\ufeff{}", "NaN", "[".repeat(500)];
  const documents = [
    ...texts.map((text) => encoder.encode(text)),
    Uint8Array.of(0xff, 0xfe),
    encoder.encode(JSON.stringify(bundle)).with(20, 0xff),
    encoder.encode(`\ufeff${JSON.stringify(bundle)}`),
    ...["event", "stream", "stream_proof", "instance_proof", "anchor"].flatMap((part) =>
      [null, [], 1, "x", {}].map((value) => bytesOf({ ...bundle, [part]: value }))
    ),
    bytesOf({ ...bundle, event: { ...bundle.event, raw: "\ud800" } }),
    bytesOf({ ...bundle, event: { ...bundle.event, index: 1e300 } }),
    encoder.encode(JSON.stringify(bundle).replace('"index":69', '"index":1e999')),
  ];
  for (const document of documents) {
    const verdict = verifyBundleBytes(document);
    assert.equal(!verdict.ok && verdict.step, "form");
    assert.equal(judgeBundle(document), "form");
  }
  await using oracle = await startAuditOracle();
  if (oracle === undefined) return;
  assert.deepEqual(await oracle.judge(documents), documents.map(() => "form"));
});

Deno.test("buildBundle() makes what verifies, with the fields of the contract in their order", async () => {
  const raws = [0, 1, 2].map((number) => `{"key":"order:global","number":${number}}`);
  const hashes: string[] = [];
  for (const raw of raws) hashes.push(extendChain(hashes.at(-1), raw));
  const roots = [merkleRoot(["aa".repeat(32)]), merkleRoot(hashes)];
  const anchor = await signInstanceAnchor("a1", {
    ...anchors.instance.fields,
    merkle_root: merkleRoot(roots),
    event_count: 4,
    stream_count: 2,
  }, anchors);
  const built = buildBundle({
    event: { index: 2, id: "000000000002", raw: raws[2]!, hash: hashes[2]!, prev_hash: hashes[1]! },
    stream: { key: "order:global", merkle_root: roots[1]!, event_count: 3 },
    streamProof: proveInclusion(hashes, 2),
    streamIndex: 1,
    instanceProof: proveInclusion(roots, 1),
    anchor,
  });
  assert.ok(verifyBundle(built).ok);
  assert.equal(judgeBundle(bytesOf(built)), "ok");
  const shape = (value: unknown): unknown =>
    typeof value === "object" && value !== null && !Array.isArray(value)
      ? Object.entries(value).map(([name, part]) => [name, shape(part)])
      : typeof value;
  const [reference] = golden.valid.filter(({ name }) =>
    name === "last of five events, alone on two levels"
  );
  assert.deepEqual(shape(built), shape(reference!.bundle));
});

const entries: readonly PageEntry[] = pages.entries;
const STREAM = "order:global";

Deno.test("verifyPage() accepts a stream from its first event on", () => {
  const tip = entries.at(-1)!.hash;
  const expected = { ok: true, stream: STREAM, events: entries.length, tip, start: "stream" };
  assert.deepEqual(verifyPage(entries), expected);
  assert.deepEqual(verifyPage(entries, { stream: STREAM }), expected);
});

Deno.test("verifyPage() accepts every page, and says what holds its first event", () => {
  for (let from = 1; from < entries.length; from++) {
    for (let to = from + 1; to <= entries.length; to++) {
      const page = entries.slice(from, to);
      const alone = verifyPage(page);
      assert.ok(alone.ok && alone.start === "unknown");
      const held = verifyPage(page, { previous: entries[from - 1]!.hash });
      assert.ok(held.ok && held.start === "previous" && held.events === to - from);
    }
  }
});

Deno.test("verifyPage() names the first entry that does not follow from the one before", () => {
  for (const [index, entry] of entries.entries()) {
    const [previous, fault] = [index === 0 ? "00".repeat(32) : undefined, { index, ok: false }];
    const refused = (page: readonly PageEntry[]) => {
      const verdict = verifyPage(page, { previous });
      assert.deepEqual({ ok: verdict.ok, index: !verdict.ok && verdict.index }, fault);
    };
    refused(entries.with(index, { ...entry, raw: `${entry.raw} ` }));
    refused(entries.with(index, { ...entry, hash: entries[(index + 1) % 7]!.hash }));
    if (index > 0 && index < 6) refused(entries.toSpliced(index, 1));
    if (index > 0) refused(entries.toSpliced(index, 0, entries[index - 1]!));
  }
});

Deno.test("verifyPage() refuses another stream's page, mixed streams and what is no event", () => {
  const refuse = (page: readonly PageEntry[], stream?: string) => {
    const verdict = verifyPage(page, { stream });
    assert.ok(!verdict.ok);
    return verdict.message;
  };
  assert.match(refuse(entries, "order:north"), /is of order:global, not of order:north/);
  const [first] = entries as [PageEntry];
  const strange = { ...first, raw: first.raw.replace("order:global", "order:north") };
  assert.match(refuse([...entries, strange]), /is of order:north, not of order:global/);
  for (const raw of ["", "[]", "1", "{}", '{"key":1}', "{", "\ud800"]) {
    refuse([{ ...first, raw }]);
  }
  assert.match(refuse([]), /no events/);
});
