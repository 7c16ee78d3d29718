/**
 * Golden cases of `src/http/data/nearby.ts`, and its query parameters: missing or bad ones are
 * 400. See docs/reference/geo.md.
 */

import assert from "node:assert/strict";
import { findNearby } from "../../../src/http/data/nearby.ts";
import { queryDecoder } from "../../../src/http/parameter.ts";
import { testGoldenCases } from "../golden_cases.ts";

testGoldenCases("nearby");

const decodeNearbyQuery = queryDecoder(findNearby.operation.query!);

function decode(change: Record<string, string>) {
  const query = new URLSearchParams({ lat: "52.52", lng: "13.405", ...change });
  return decodeNearbyQuery(query.toString());
}

Deno.test("findNearby() takes a point alone: 1,000 metres, the usual limit", () => {
  const point = { lat: 52.52, lng: 13.405 };
  const value = { ...point, radius: 1_000, limit: undefined, instance_id: undefined };
  assert.deepEqual(decodeNearbyQuery("lat=52.52&lng=13.405"), { ok: true, value });
});

Deno.test("findNearby() takes decimal numbers in all their spellings", () => {
  const spellings = {
    "0": 0,
    "-0.25": -0.25,
    "12.50": 12.5,
    "1e1": 10,
    "1.5E+1": 15,
    "25e-1": 2.5,
  };
  for (const [text, lat] of Object.entries(spellings)) {
    const decoded = decode({ lat: text });
    assert.ok(decoded.ok && decoded.value.lat === lat, text);
  }
  for (const [lat, lng] of [["90", "180"], ["-90", "-180"]] as const) {
    assert.ok(decode({ lat, lng }).ok);
  }
});

Deno.test("findNearby() takes a radius of 1 to 100,000 metres", () => {
  for (const radius of ["1", "1.5", "100000", "1e5"]) {
    const decoded = decode({ radius });
    assert.ok(decoded.ok && decoded.value.radius === Number(radius), radius);
  }
});

const refused: readonly [string, readonly string[]][] = [
  ["lat", [
    "",
    "north",
    "90.1",
    "-90.1",
    "1e9",
    "NaN",
    "Infinity",
    "0x10",
    "1,5",
    " 1",
    "1.",
    ".5",
    "+1",
    "٥",
  ]],
  ["lng", ["", "east", "180.1", "-180.1", "1_0", "--1", "1e"]],
  ["radius", ["", "0", "0.99", "100000.1", "-5", "far", "1km", "NaN"]],
  ["limit", ["0", "-1", "1.5", "many", ""]],
];
for (const [name, texts] of refused) {
  Deno.test(`findNearby() refuses what ${name} cannot be, with its name`, () => {
    for (const text of texts) {
      const decoded = decode({ [name]: text });
      assert.ok(!decoded.ok, text);
      assert.ok(decoded.refusal.kind === "bad_request" && decoded.refusal.path === name, text);
    }
  });
}

Deno.test("findNearby() requires both coordinates", () => {
  for (const [query, path] of [["", "lat"], ["lng=1", "lat"], ["lat=1", "lng"]] as const) {
    const decoded = decodeNearbyQuery(query);
    assert.ok(!decoded.ok && decoded.refusal.kind === "bad_request");
    assert.equal(decoded.refusal.path, path);
  }
});
