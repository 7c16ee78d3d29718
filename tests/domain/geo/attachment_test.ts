/**
 * What counts as a point in an event's data, and what is refused, with its path: golden cases.
 */

import assert from "node:assert/strict";
import fc from "fast-check";
import type { GeoReader } from "../../../src/domain/geo/attachment.ts";
import type { GeoStamp } from "../../../src/domain/geo/point.ts";
import type { JsonObject } from "../../../src/domain/json.ts";
import { compileSpec } from "../../../src/domain/spec/compile.ts";

interface PointCase {
  readonly name: string;
  readonly data: JsonObject;
  readonly properties?: string[];
  readonly path?: string;
  /** null if the event has no point. */
  readonly geo?: GeoStamp | null;
  /** The path of the refused value. */
  readonly fault?: string;
}

function readerOf({ properties = ["lat", "lng"], path = "$.data.location" }: Partial<PointCase>) {
  const event = { schema: true, handler: [], geo: { type: "place", path } };
  const compiled = compileSpec({
    agent_types: ["user"],
    geo_types: { place: { type: "point", properties } },
    aggregate_types: { shop: { events: { was_opened: event } } },
  });
  assert.ok(compiled.ok, JSON.stringify(compiled));
  return compiled.spec.aggregateTypes.get("shop")!.events.get("was_opened")!.locate as GeoReader;
}

const golden = new URL("../../golden/geo/points.json", import.meta.url);
for (const row of JSON.parse(Deno.readTextFileSync(golden)) as PointCase[]) {
  const does = row.fault ? "refuses" : row.geo ? "takes" : "finds no point where there is";
  Deno.test(`geoReader() ${does} ${row.name}`, () => {
    const located = readerOf(row)(row.data);
    if (row.fault === undefined) assert.deepEqual(located, { ok: true, geo: row.geo ?? undefined });
    else {
      assert.ok(!located.ok, JSON.stringify(located));
      assert.equal(located.fault.path, row.fault);
      assert.match(located.fault.message, /^must be /);
    }
  });
}

Deno.test("geoReader() gives what it was given or a fault for any data, and no negative zero", () => {
  const locate = readerOf({});
  fc.assert(fc.property(fc.jsonValue(), (location) => {
    const located = locate(JSON.parse(JSON.stringify({ location })));
    if (!located.ok) assert.ok(located.fault.path.startsWith("data.location"));
  }));
  const located = locate({ location: { lat: -0, lng: -0 } });
  assert.ok(located.ok && Object.is(located.geo?.lat, 0) && Object.is(located.geo?.lng, 0));
});
