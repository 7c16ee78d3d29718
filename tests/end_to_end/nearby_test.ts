/** `GET /{aggregate_type}/nearby` and `metadata.geo`. See docs/reference/geo.md. */

import type { JsonObject } from "../../src/domain/json.ts";
import { type Case, refusal, type Step, testCases } from "./cases.ts";
import { METADATA, uuid } from "./world_spec.ts";

const plain = { schema: true, handler: [] };
const spec: JsonObject = {
  agent_types: ["user"],
  geo_types: { place: { type: "point", properties: ["lat", "lng"] } },
  aggregate_types: {
    van: {
      events: {
        was_seen: { ...plain, geo: { type: "place", path: "$.data.at" } },
        was_sold: plain,
      },
    },
    kiosk: { events: { was_opened: { ...plain, geo: { type: "point", path: "$.data" } } } },
    note: { events: { was_written: plain } },
  },
};
const world = { spec };

function seenAt(id: string, lat: number, lng: number): Step {
  const body = { data: { at: { lat, lng } }, metadata: METADATA };
  return { call: `POST /van/${id}/was_seen`, body };
}

function found(...data: (readonly [id: string, distance: number, lat: number, lng: number])[]) {
  const entries = data.map(([id, distance, lat, lng]) => ({ id, distance, point: { lat, lng } }));
  return { ok: true, data: entries, limit: 50, truncated: false };
}

const NOTHING = found();

function get(query: string): string {
  return `GET /van/nearby?${query}`;
}

testCases(
  "nearby",
  [
    {
      name: "answers {ok, data: [{id, distance, point: {lat, lng}}], limit, truncated}",
      after: [seenAt("global", 52.52, 13.405)],
      call: get("lat=52.52&lng=13.405&radius=1"),
      status: 200,
      answer: found(["global", 0, 52.52, 13.405]),
    },
    {
      name: "answers no data where nothing is near",
      after: [seenAt("global", 52.52, 13.405)],
      call: get("lat=-52.52&lng=13.405&radius=100000"),
      status: 200,
      answer: NOTHING,
    },
    {
      name: "looks 1,000 metres far where no radius is given",
      after: [seenAt(uuid(1), 0.0089, 0), seenAt(uuid(2), 0.009, 0)],
      call: get("lat=0&lng=0"),
      status: 200,
      answer: /"id":"[^"]*01","distance":989\.6\d+,/,
    },
    {
      name: "sorts by distance, then by id",
      after: [seenAt(uuid(3), 1, 1.0005), seenAt(uuid(2), 1, 1), seenAt(uuid(1), 1, 1)],
      call: get("lat=1&lng=1"),
      status: 200,
      answer: /"data":\[\{"id":"[^"]*1","distance":0,.*"id":"[^"]*2","distance":0,.*"id":"[^"]*3"/,
    },
    {
      name: "reaches across the antimeridian",
      after: [seenAt(uuid(1), 0, -180), seenAt(uuid(2), 0, 179.9999)],
      call: get("lat=0&lng=180&radius=12"),
      status: 200,
      answer: /"id":"[^"]*1","distance":0,.*"id":"[^"]*2","distance":11\.119/,
    },
    {
      name: "reaches across the north pole",
      after: [seenAt(uuid(1), 90, 77), seenAt(uuid(2), 89.9999, -90)],
      call: get("lat=89.9999&lng=90&radius=23"),
      status: 200,
      answer: /"id":"[^"]*1","distance":11\.119.*"id":"[^"]*2","distance":22\.239/,
    },
    {
      name: "finds an aggregate at its newest point alone",
      after: [seenAt("global", 1, 1), seenAt("global", 2, 2)],
      call: get("lat=1&lng=1"),
      status: 200,
      answer: NOTHING,
    },
    {
      name: "an event without a point leaves the aggregate where it was",
      after: [
        seenAt("global", 1, 1),
        { call: "POST /van/global/was_sold", body: { data: { at: 5 }, metadata: METADATA } },
        { call: "POST /van/global/was_seen", body: { data: { at: null }, metadata: METADATA } },
      ],
      call: get("lat=1&lng=1"),
      status: 200,
      answer: found(["global", 0, 1, 1]),
    },
    {
      name: "leaves out what the limit cuts off, and says so",
      after: [seenAt(uuid(1), 1, 1), seenAt(uuid(2), 1, 1)],
      call: get("lat=1&lng=1&limit=1"),
      status: 200,
      answer: { ...found([uuid(1), 0, 1, 1]), limit: 1, truncated: true },
    },
    {
      name: "clamps a limit above 200, and says so",
      call: get("lat=1&lng=1&limit=201"),
      status: 200,
      answer: { ...NOTHING, limit: 200, limit_clamped: true },
    },
    {
      name: "has the built-in geo type point, and GeoJSON",
      after: [{
        call: "POST /kiosk/global/was_opened",
        body: { data: { type: "Point", coordinates: [13.405, 52.52] }, metadata: METADATA },
      }],
      call: "GET /kiosk/nearby?lat=52.52&lng=13.405",
      status: 200,
      answer: found(["global", 0, 52.52, 13.405]),
    },
    ...["", "lat=1", "lng=1", "lat=91&lng=0", "lat=0&lng=181", "lat=a&lng=0"].map((
      query,
    ): Case => ({
      name: `is 400 for the point '${query}'`,
      call: get(query),
      status: 400,
    })),
    ...["radius=0.9", "radius=100001", "radius=far", "limit=0", "limit=x"].map((query): Case => ({
      name: `is 400 for ${query}`,
      call: get(`lat=0&lng=0&${query}`),
      status: 400,
    })),
    {
      name: "is 404 for a type without points",
      call: "GET /note/nearby?lat=1&lng=1",
      status: 404,
      answer: refusal("not_found", "Aggregate type 'note' has no geo attachment in spec"),
    },
    {
      name: "is 404 for an unknown type",
      call: "GET /ship/nearby?lat=1&lng=1",
      status: 404,
      answer: refusal("not_found", "Aggregate type 'ship' not found in spec"),
    },
    {
      name: "is read only: 405 with Allow",
      call: "POST /van/nearby",
      body: { events: [], metadata: METADATA },
      status: 405,
      headers_out: { allow: "GET" },
    },
  ].map((row): Case => ({ ...row, world })),
);

testCases(
  "metadata.geo",
  [
    {
      name: "is {type, lat, lng}, behind the client's metadata",
      after: [seenAt("global", 52.52, 13.405)],
      call: "GET /van/global/events?raw=true",
      status: 200,
      answer:
        /\\"timestamp\\":\d+,\\"geo\\":\{\\"type\\":\\"place\\",\\"lat\\":52\.52,\\"lng\\":13\.405\}\}\}"/,
    },
    {
      name: "a latitude beyond the pole is 422 with its path",
      ...seenAt("global", 90.5, 0),
      status: 422,
      answer: refusal("schema_validation", "Event data failed schema validation", {
        path: "data.at.lat",
        details: [{ path: "data.at.lat", message: "must be a latitude, a number from -90 to 90" }],
      }),
    },
    {
      name: "a longitude beyond the antimeridian is 422 with its path, in a batch with its event",
      call: "POST /van/global",
      body: {
        events: [
          { type: "was_seen", data: { at: { lat: 1, lng: 1 } } },
          { type: "was_seen", data: { at: { lat: 1, lng: -180.1 } } },
        ],
        metadata: METADATA,
      },
      status: 422,
      answer: /"path":"data\.at\.lng","event_index":1/,
    },
    {
      name: "a text where the point should be is 422 with its path",
      call: "POST /van/global/was_seen",
      body: { data: { at: "Berlin" }, metadata: METADATA },
      status: 422,
      answer: /"path":"data\.at",/,
    },
    {
      name: "cannot be sent",
      call: "POST /van/global/was_seen",
      body: { data: {}, metadata: { ...METADATA, geo: { type: "place", lat: 1, lng: 1 } } },
      status: 422,
    },
  ].map((row): Case => ({ ...row, world })),
);
