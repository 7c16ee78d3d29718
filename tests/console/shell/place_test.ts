/** The address of a view, as text and as parts. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { formatPlace, parsePlace } from "../../../console/src/shell/place.ts";

Deno.test("an address is a path of segments and a query", () => {
  const place = parsePlace("#/streams/order/7KD2M9QXA?length=3&from=now");
  assert.deepEqual(place.path, ["streams", "order", "7KD2M9QXA"]);
  assert.deepEqual(place.query, { length: "3", from: "now" });
  assert.deepEqual(parsePlace(""), { path: [], query: {} });
  assert.deepEqual(parsePlace("#/"), { path: [], query: {} });
});

Deno.test("whatever a path and a query hold, their address stands for them", () => {
  const segment = fc.string({ unit: "grapheme", minLength: 1 });
  const query = fc.dictionary(fc.string({ minLength: 1 }), fc.string({ minLength: 1 }));
  fc.assert(fc.property(fc.array(segment), query, (path, asked) => {
    const place = parsePlace(formatPlace(path, asked));
    assert.deepEqual(place.path, path);
    assert.deepEqual({ ...place.query }, { ...asked });
  }));
});

Deno.test("a segment that is no percent-encoding stands for itself", () => {
  assert.deepEqual(parsePlace("#/streams/100%").path, ["streams", "100%"]);
});

Deno.test("a parameter without a value is left out of the address", () => {
  assert.equal(formatPlace(["spec"], { a: undefined, b: "", c: 0 }), "#/spec?c=0");
});
