/** Places are counted by name, and become free again when a holder leaves. */

import assert from "node:assert/strict";
import { openPlaces } from "../../../src/domain/fairness/places.ts";

Deno.test("a name has so many places and no more, whatever others have", () => {
  const places = openPlaces(2);
  assert.deepEqual([1, 2, 3].map(() => places.enter("a")), [true, true, false]);
  assert.equal(places.enter("b"), true);
  places.leave("a");
  assert.deepEqual([1, 2].map(() => places.enter("a")), [true, false]);
});

Deno.test("places that all have left are all there again", () => {
  const places = openPlaces(1);
  for (let turn = 0; turn < 3; turn++) {
    assert.equal(places.enter("a"), true);
    places.leave("a");
  }
});
