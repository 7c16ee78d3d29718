/** The marker that an erased event leaves behind. See docs/reference/erasure.md. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import fc from "fast-check";
import { markerOf } from "../../../src/domain/erasure/marker.ts";
import { decodeEvent } from "../../../src/domain/event.ts";

Deno.test("a marker has the key, the time, the type and the hash of the event, and nothing else of it", () => {
  fc.assert(fc.property(
    fc.dictionary(fc.string({ unit: "grapheme" }), fc.jsonValue()),
    fc.nat(),
    (data, timestamp) => {
      const metadata = { actor: { type: "user", id: "u" }, timestamp, idempotency_key: "k" };
      const raw = JSON.stringify({ key: "person:global", type: "was_born", data, metadata });
      const marker = markerOf(decodeEvent(raw), raw, "tmb_1");
      const original_hash = createHash("sha256").update(raw).digest("hex");
      const expected = `{"key":"person:global","type":"_was_tombstoned","data":{"tombstone_id":` +
        `"tmb_1","original_type":"was_born","original_hash":"${original_hash}"},"metadata":` +
        `{"actor":{"type":"system_operator","id":"global"},"timestamp":${timestamp}}}`;
      assert.equal(marker.raw, expected);
      assert.equal(marker.bytes, new TextEncoder().encode(expected).length);
    },
  ));
});

Deno.test("a marker that is erased again stays as it is, to the letter", () => {
  const metadata = { actor: { type: "user", id: "u" }, timestamp: 5 };
  const raw = JSON.stringify({ key: "person:global", type: "was_born", data: {}, metadata });
  const first = markerOf(decodeEvent(raw), raw, "tmb_1");
  const second = markerOf(decodeEvent(first.raw), first.raw, "tmb_2");
  assert.deepEqual([second.raw, second.type, second.bytes], [first.raw, first.type, first.bytes]);
});
