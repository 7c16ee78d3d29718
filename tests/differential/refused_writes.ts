/**
 * Writes that are refused, one row for each documented reason. They are sent in turn, so that a
 * trace has each of them equally often. See docs/reference/writing.md and
 * docs/reference/errors.md.
 */

import type { JsonObject, JsonValue } from "../../src/domain/json.ts";
import type { Operation, Sent } from "./operation.ts";
import { pickPlace, request, sentTo, type TraceModel } from "./trace_model.ts";

type Row = Pick<Sent, "path"> & Partial<Sent>;

const ACTOR = { type: "user", id: "global" };
const METADATA = { actor: ACTOR };
const UUID = "5b3e1a7c-9d24-4f6a-8b1e-000000000001";
const UUID_V1 = "5b3e1a7c-9d24-1f6a-8b1e-000000000001";
const SINGLE = "/note/main/was_written";
const BATCH = "/note/main";
const ATOMIC = "/_atomic-write";
const TOO_LARGE_DATA = { text: { $text: 102_400 } };
const EVENT = { type: "was_written", data: { text: "a" } };

function single(data: JsonValue | undefined, metadata: JsonValue = METADATA, path = SINGLE): Row {
  return { path, json: data === undefined ? { metadata } : { data, metadata } };
}

function withMetadata(change: JsonObject): Row {
  return single({}, { ...METADATA, ...change });
}

function batch(body: JsonObject): Row {
  return { path: BATCH, json: { metadata: METADATA, ...body } };
}

function atomic(targets: JsonValue, metadata: JsonObject = METADATA, more: JsonObject = {}): Row {
  return { path: ATOMIC, json: { targets, metadata, ...more } };
}

function target(change: JsonObject): JsonObject {
  return { aggregate_type: "note", id: "main", events: [EVENT], ...change };
}

function text(body: string, headers: Sent["headers"] = {}): Row {
  return { path: SINGLE, text: body, headers };
}

function keyed(key: string): Row {
  return { ...single({}), headers: { "x-idempotency-key": key } };
}

const OUTER: readonly Row[] = [
  { ...single({}), as: "none" },
  { ...single({}), as: { header: "Bearer dbk_0_test_nothing" } },
  { ...single({}), as: { header: "{{shop_test_write}}" } },
  { ...single({}), as: { header: "Basic abc" } },
  { ...single({}), as: "operator" },
  { ...single({}), as: { header: "Bearer {{shop_test_read}}" }, environment: "test" },
  { ...single({}), as: { header: "Bearer {{shop_staging_write}}" }, environment: "test" },
  { ...single({}), as: { header: "Bearer {{shop_test_write}}" }, host: "bakery-test" },
  { ...single({}), as: { header: "Bearer {{shop_test_write}}" }, host: "api" },
  { ...single({}), headers: { "content-type": "text/plain" } },
  { ...single({}), headers: { "content-type": "application/json; charset=latin1" } },
  { ...single({}), headers: { "content-type": null } },
  { ...single({}), headers: { "content-encoding": "gzip" } },
  { ...single({}), headers: { "content-length": "9000000" } },
  text(""),
  text("{"),
  text("[]"),
  text("nothing"),
  text('\ufeff{"data":{}}'),
  text('{"data":{"a":1,"a":2},"metadata":{}}'),
  text('{"data":{"a":12345678901234567890},"metadata":{}}'),
  text('{"data":{"a":[1,1e999]},"metadata":{}}'),
  text(`{"data":${"[".repeat(65)}${"]".repeat(65)}}`),
  keyed(""),
  keyed("k".repeat(256)),
  keyed("one, two"),
  keyed("t\u00e4g"),
];

const INNER: readonly Row[] = [
  { ...single({}), path: "/nothing/main/was_written" },
  { ...single({}), path: "/note/main/was_forgotten" },
  { ...single({}), path: "/order/main/_was_tombstoned" },
  { ...single({}), path: `/note/${UUID_V1}/was_written` },
  { ...single({}), path: `/note/${UUID}:TAG/was_written` },
  { ...single({}), path: "/note/short/was_written" },
  { ...single({}), path: "/note/not%20an%20id/was_written" },
  { path: SINGLE, json: { data: {}, metadata: METADATA, more: 1 } },
  { path: SINGLE, json: { data: {} } },
  { path: SINGLE, json: { data: {}, metadata: [] } },
  single({}, {}),
  single(undefined),
  single([1]),
  single(TOO_LARGE_DATA),
  single({ text: 7 }),
  single(
    { customer: "", on: "2026-02-30", lines: [{ sku: "x" }], odd: 1 },
    METADATA,
    "/order/main/was_placed",
  ),
  single({ amount: 0.001 }, METADATA, "/order/main/was_paid"),
  withMetadata({ idempotency_key: "a" }),
  withMetadata({ implied_by: {} }),
  withMetadata({ color: "red" }),
  withMetadata({ actor: "user" }),
  withMetadata({ actor: { type: "system", id: "global" } }),
  withMetadata({ actor: { type: "user", id: "nobody" } }),
  withMetadata({ actor: { type: "user", id: 7 } }),
  withMetadata({ actor: { type: "user", id: "global", name: "A" } }),
  withMetadata({ actor: { type: "system_agent", id: "global" } }),
  withMetadata({ target: { type: "order", id: "global" } }),
  withMetadata({ target: { type: "customer", id: `${UUID}:` } }),
  withMetadata({ previous_length: -1 }),
  withMetadata({ previous_length: "1" }),
  withMetadata({ previous_length: 1_000_000 }),
  withMetadata({ skip_occ: "yes" }),
  withMetadata({ skip_occ: true, previous_length: 0 }),
  single({}, { ...METADATA, skip_occ: true }, "/note/main/was_filed"),
  withMetadata({ timestamp: -1 }),
  {
    ...withMetadata({ timestamp: 1 }),
    environment: "production",
    as: { header: "Bearer {{shop_production_write}}" },
  },
];

const SEVERAL: readonly Row[] = [
  batch({}),
  batch({ events: {} }),
  batch({ events: [] }),
  batch({ events: [EVENT, 7] }),
  batch({ events: [EVENT, { data: {} }] }),
  batch({ events: [{ ...EVENT, id: 1 }] }),
  batch({ events: [EVENT, { type: "was_forgotten" }] }),
  batch({ events: [EVENT, { type: "_was_tombstoned" }] }),
  batch({ events: [EVENT, { type: "was_written", data: { text: 1 } }] }),
  batch({ events: [EVENT, { type: "was_written", data: TOO_LARGE_DATA }] }),
  batch({ events: { $times: 10_001, $item: { type: "was_filed" } } }),
  batch({ events: [EVENT], metadata: { ...METADATA, previous_length: 1_000_000 } }),
  atomic({}),
  atomic([]),
  atomic({ $times: 11, $item: target({}) }),
  atomic([7]),
  atomic([target({ name: "a" })]),
  atomic([target({ aggregate_type: 7 })]),
  atomic([target({ id: 7 })]),
  atomic([target({ id: "short" })]),
  atomic([target({ events: [] })]),
  atomic([target({ events: [{ type: 7 }] })]),
  atomic([target({}), target({ aggregate_type: "nothing" })]),
  atomic([target({}), target({ aggregate_type: "tally" })]),
  atomic([target({}), target({ id: "main" })]),
  atomic([target({ previous_length: "1" })]),
  atomic([target({ previous_length: 1_000_000 })]),
  atomic([target({ events: [{ type: "was_written", data: { text: 1 } }] })]),
  atomic([target({ events: [{ type: "_was_tombstoned" }] })]),
  atomic([target({})], { ...METADATA, previous_length: 0 }),
  atomic([target({ previous_length: 0 })], { ...METADATA, skip_occ: true }),
  atomic([target({})], {}),
  atomic([target({})], METADATA, { more: 1 }),
];

const ROWS: readonly Row[] = [...OUTER, ...INNER, ...SEVERAL];

/** The environment is drawn, unless the reason depends on it. */
export function writeRefused(model: TraceModel): Operation {
  const row = model.turn(ROWS);
  const sent = sentTo(model, pickPlace(model), { method: "POST", ...row });
  // A host name and a listener together would contradict each other.
  const { host: _, ...elsewhere } = sent;
  const placed = row.environment === undefined ? sent : elsewhere;
  return request(
    model,
    "refused_write",
    row.host === undefined ? placed : { ...sent, host: row.host },
  );
}

/** How many refused writes it takes until each reason has come once. */
export const REFUSED_WRITE_ROWS = ROWS.length;
