/** The point of a stored event, from nothing but its text. */

import assert from "node:assert/strict";
import { encodeEvent, encodeMetadata } from "../../../src/domain/event.ts";
import { storedPoint } from "../../../src/domain/geo/stored_point.ts";

const actor = { type: "user", id: "global" };

function raw(data: object, metadata: object = {}): string {
  const text = encodeMetadata({ actor, timestamp: 1, ...metadata });
  return encodeEvent({
    key: "shop:global",
    type: "was_opened",
    dataJson: JSON.stringify(data),
    metadataJson: text,
  }).raw;
}

Deno.test("storedPoint() is what metadata.geo says", () => {
  const geo = { type: "place", lat: -12.5, lng: 180 };
  assert.deepEqual(storedPoint(raw({}, { geo })), { lat: -12.5, lng: 180 });
});

Deno.test("storedPoint() does not take what only looks like it", () => {
  const geo = { type: "place", lat: 1, lng: 2 };
  for (
    const text of [
      raw({}),
      raw({ geo }),
      raw({ metadata: { geo } }),
      raw({ text: '"geo":{"type":' }),
    ]
  ) {
    assert.equal(storedPoint(text), undefined);
  }
});

Deno.test("storedPoint() does not take what is not on the Earth", () => {
  for (const [lat, lng] of [[91, 0], [0, 181], ["1", 2], [null, 2]]) {
    assert.equal(storedPoint(raw({}, { geo: { type: "place", lat, lng } })), undefined);
  }
});
