/** The hash of a value is that of its canonical text, however it is computed. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import fc from "fast-check";
import { canonicalHash, canonicalHashInPieces } from "../../src/domain/canonical_hash.ts";
import { canonicalJson } from "../../src/domain/canonical_json.ts";
import type { JsonValue } from "../../src/domain/json.ts";

const jsonValue = fc.jsonValue({ maxDepth: 5 }).map((value) => value as JsonValue);

Deno.test("canonicalHash() is the SHA-256 of the canonical text, also of one in many pieces", () => {
  const long = Array.from(
    { length: 3_000 },
    (_, index) => ({ b: `é${index}`, a: ["\ud83d\ude00"] }),
  );
  const oneLong = { text: "\ud83d\ude00".repeat(40_000), after: [] };
  let deep: JsonValue = long;
  for (let level = 0; level < 300; level++) deep = level % 2 === 0 ? [deep] : { deep };
  for (const value of [null, {}, [], { b: 1, a: [2] }, long, oneLong, deep] as JsonValue[]) {
    const text = canonicalJson(value);
    assert.deepEqual(JSON.parse(text), value);
    assert.equal(canonicalHash(value), createHash("sha256").update(text, "utf8").digest("hex"));
  }
});

Deno.test("canonicalHashInPieces() gives the hash of the same text, for values of any size", async () => {
  const atOnce = { rest: () => undefined };
  const check = async (value: JsonValue) =>
    assert.equal(await canonicalHashInPieces(value, atOnce), canonicalHash(value));
  await fc.assert(fc.asyncProperty(jsonValue, check));
  const part = { b: "x".repeat(100), a: [1, null, true], "": {} };
  const many = Array.from({ length: 2_000 }, () => part);
  const keys = Object.fromEntries(many.map((_, index) => [`k${(index * 7) % 2_000}`, index]));
  for (const value of [many, keys, { z: many, a: keys, m: [[many]] }]) await check(value);
});

Deno.test("canonicalHashInPieces() gives others the thread between the parts of a large value", async () => {
  let turns = 0;
  const pieces = { rest: () => void turns++ };
  await canonicalHashInPieces(Array.from({ length: 5_000 }, (_, index) => ({ index })), pieces);
  assert.ok(turns > 1_000);
});
