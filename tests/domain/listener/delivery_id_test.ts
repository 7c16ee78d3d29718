/** Ids of deliveries sort by the time of their event, then by its position in the write. */

import assert from "node:assert/strict";
import {
  DELIVERY_ID,
  DELIVERY_ID_RANDOM_BYTES,
  deliveryId,
  deliveryIdsFrom,
} from "../../../src/domain/listener/delivery_id.ts";

const NOW = Date.UTC(2026, 0, 1);
const low = new Uint8Array(DELIVERY_ID_RANDOM_BYTES);
const high = new Uint8Array(DELIVERY_ID_RANDOM_BYTES).fill(255);

Deno.test("later events and later places have ids that sort behind", () => {
  const ids = [
    deliveryId(NOW, 0, high),
    deliveryId(NOW, 1, low),
    deliveryId(NOW, 9_999, high),
    deliveryId(NOW + 1, 0, low),
    deliveryId(NOW + 1e9, 0, low),
  ];
  assert.deepEqual(ids.toSorted(), ids);
  for (const id of ids) assert.match(id, DELIVERY_ID);
});

Deno.test("all ids of a time and later, and none before, are behind its beginning", () => {
  assert.ok(deliveryId(NOW, 0, low) > deliveryIdsFrom(NOW));
  assert.ok(deliveryId(NOW - 1, 65_535, high) < deliveryIdsFrom(NOW));
  assert.ok(deliveryId(0, 0, low) > deliveryIdsFrom(-5), "before 1970 is the beginning");
});
