/** Geo types and attachments that a spec may have; the golden cases have what it may not. */

import assert from "node:assert/strict";
import type { JsonObject } from "../../../src/domain/json.ts";
import { checkCompatibility } from "../../../src/domain/spec/compatibility.ts";
import { compileSpec } from "../../../src/domain/spec/compile.ts";

function specOf(geo: JsonObject | undefined, geoTypes?: JsonObject): JsonObject {
  const event: JsonObject = { schema: true, handler: [], ...(geo && { geo }) };
  return {
    agent_types: ["user"],
    aggregate_types: { shop: { events: { was_opened: event } } },
    ...(geoTypes && { geo_types: geoTypes }),
  };
}

function compiled(spec: JsonObject) {
  const compilation = compileSpec(spec);
  assert.ok(compilation.ok, JSON.stringify(compilation));
  const shop = compilation.spec.aggregateTypes.get("shop")!;
  return { shop, locate: shop.events.get("was_opened")!.locate };
}

const PLACE = { place: { type: "point", properties: ["latitude", "longitude"] } };

Deno.test("an attachment finds its point by the properties of its geo type", () => {
  const { locate } = compiled(specOf({ type: "place", path: "$.data.at" }, PLACE));
  const located = locate!({ at: { latitude: 1, longitude: 2 } });
  assert.deepEqual(located, { ok: true, geo: { type: "place", lat: 1, lng: 2 } });
});

Deno.test("the geo type point, of lat and lng, is there without being declared", () => {
  const { locate } = compiled(specOf({ type: "point", path: "$.data" }));
  const geo = { type: "point", lat: 1, lng: 2 };
  assert.deepEqual(locate!({ lat: 1, lng: 2 }), { ok: true, geo });
});

Deno.test("a spec may declare its own point", () => {
  const own = { point: { type: "point", properties: ["y", "x"] } };
  const { locate } = compiled(specOf({ type: "point", path: "$.data" }, own));
  assert.deepEqual(locate!({ y: 1, x: 2 }), { ok: true, geo: { type: "point", lat: 1, lng: 2 } });
});

Deno.test("without an attachment, or with an empty one, an event type has no point", () => {
  assert.equal(compiled(specOf(undefined, PLACE)).locate, undefined);
  assert.equal(compiled(specOf({}, PLACE)).locate, undefined);
});

Deno.test("an attachment does not change how a type folds", () => {
  const without = compiled(specOf(undefined)).shop.foldHash;
  assert.equal(compiled(specOf({ type: "point", path: "$.data" })).shop.foldHash, without);
});

Deno.test("a redeploy may add, change and take away attachments and geo types", () => {
  const specs = [
    specOf(undefined),
    specOf({ type: "point", path: "$.data" }),
    specOf({ type: "place", path: "$.data.at" }, PLACE),
    specOf({ type: "place", path: "$.data.at" }, {
      place: { type: "point", properties: ["y", "x"] },
    }),
  ];
  for (const before of specs) {
    for (const after of specs) assert.deepEqual(checkCompatibility(before, after), []);
  }
});
