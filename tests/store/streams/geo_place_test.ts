/** Places in their stored form. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { decodePlace, PLACE_BYTES, putPlace } from "../../../src/store/streams/geo_place.ts";

const place = fc.record({
  leaf: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
  lat: fc.double({ min: -90, max: 90, noNaN: true }),
  lng: fc.double({ min: -180, max: 180, noNaN: true }),
}, { noNullPrototype: true });

Deno.test("decodePlace() gives back what putPlace() was given, to the last bit", () => {
  fc.assert(fc.property(place, fc.nat(9), (given, at) => {
    const view = new DataView(new ArrayBuffer(at + PLACE_BYTES));
    putPlace(view, at, given);
    assert.deepStrictEqual(decodePlace(view, at), given);
  }));
});

Deno.test("places sort by their leaf, as unsigned numbers", () => {
  const bytesOf = (leaf: bigint) => {
    const view = new DataView(new ArrayBuffer(PLACE_BYTES));
    putPlace(view, 0, { leaf, lat: 0, lng: 0 });
    return new Uint8Array(view.buffer).toHex();
  };
  const leaves = [0n, 1n, 255n, 256n, 2n ** 63n - 1n, 2n ** 63n, 2n ** 64n - 1n];
  assert.deepEqual(leaves.map(bytesOf), leaves.map(bytesOf).toSorted());
});
