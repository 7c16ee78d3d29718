/**
 * Requests that produce each documented status of each route, for `openapi_test.ts`. A row has its
 * route's success and its own refusals. Those that all routes share, for their credential, query or
 * body, are derived from the success: `derivedRequest()`.
 */

import assert from "node:assert/strict";
import type { JsonObject } from "../../src/domain/json.ts";
import { uuid } from "../support/service_fixture.ts";
import { drainErasures } from "../support/erasure_fixtures.ts";
import { deliver } from "../support/listener_fixtures.ts";
import { settleProjections } from "../support/settle_projections.ts";
import { framed, returning } from "../support/wasm/build_module.ts";
import { operatorClaims, type SendOptions, signToken, type World } from "./world.ts";
import { beyondFeed, waitForNothing } from "./feed_requests.ts";
import { openApiSpec } from "./openapi_spec.ts";
import { METADATA } from "./world_spec.ts";

/** A request: `[path with query, body?, more?]`. */
export type Asked = readonly [path: string, body?: unknown, options?: SendOptions];
export type Ask = (world: World) => Asked | Promise<Asked>;
/** From a status to the request that produces it. */
export type Producers = Readonly<Record<number, Ask>>;

const HANDLER = framed(returning('{"state":{}}'));

const ORDER = "/order/7KD2M9QXA";
const NOTED = { data: { text: "a" }, metadata: METADATA };
const BERLIN = { lat: 52.52, lng: 13.405 };
const BATCH = { events: [{ type: "was_noted", data: { text: "a" } }], metadata: METADATA };
/** The spec of the test's world is deployed in production too. */
const PRODUCTION = { order: `${ORDER}/was_noted`, placed: NOTED };
const HOUR_MS = 3_600_000;
const UNKNOWN = "00000000-0000-4000-8000-000000000000";

function atomic(change: JsonObject = {}) {
  const target = { aggregate_type: "order", id: "7KD2M9QXA", events: BATCH.events, ...change };
  return { targets: [target], metadata: METADATA };
}

function get(path: string): Ask {
  return () => [path];
}

function post(path: string, body: unknown): Ask {
  return () => [path, body];
}

async function expect(world: World, status: number, [path, body, options]: Asked, method = "POST") {
  const answer = await world.send(method, path, { body, ...options });
  assert.equal(answer.status, status, answer.text);
  return answer.body;
}

function note(world: World) {
  return expect(world, 201, [`${ORDER}/was_noted`, NOTED]);
}

function afterNote(path: string): Ask {
  return async (world) => [await note(world).then(() => path)];
}

async function firstOf(world: World, path: string, field: string): Promise<string> {
  const { data } = await expect(world, 200, [path], "GET");
  return data[0][field];
}

/** An operator's request about the instance. */
function instance(path = ""): Ask {
  return ({ instanceId }) => [`/api/instances/${instanceId}${path}`];
}

function toInstance(path: string, body: unknown): Ask {
  return ({ instanceId }) => [`/api/instances/${instanceId}${path}`, body];
}

function asOperator(path: string, body?: unknown): Ask {
  return ({ operator }) => [path, body, { token: operator }];
}

const REACTIONS = "/_admin/reactions";
const TOMBSTONES = "/_admin/tombstones";
const ERASURE = { key: "order:7KD2M9QXA", reason: "asked for", environment: "test" };

let erasures = 0;

/** Requests the erasure of an order written for that purpose: each has at most one request. */
async function erasure(world: World): Promise<string> {
  const id = uuid(++erasures);
  await expect(world, 201, [`/order/${id}/was_noted`, NOTED]);
  const body = { ...ERASURE, key: `order:${id}`, grace_hours: 0 };
  return (await expect(world, 202, await asOperator(TOMBSTONES, body)(world))).tombstone.id;
}

function ofErasure(id: string | typeof erasure = erasure): Ask {
  return async (world) => {
    const name = typeof id === "string" ? id : await id(world);
    return await asOperator(`${TOMBSTONES}/${name}`)(world);
  };
}

async function erased(world: World): Promise<string> {
  const id = await erasure(world);
  await drainErasures(world.service);
  return id;
}

const ORDERS_SEEN: JsonObject = {
  name: "orders_seen",
  for_each: "order",
  sources: { order: "$key" },
  select: { text: "$.order.text" },
};

/** Deploys a projection and returns the path of the projections. */
async function deployed(world: World): Promise<[path: string]> {
  const [path] = await instance("/projections")(world);
  const answer = await world.send("POST", path, { body: { projection: ORDERS_SEEN } });
  assert.ok(answer.status === 200 || answer.status === 201, answer.text);
  return [path];
}

async function shown(world: World): Promise<void> {
  await deployed(world);
  await note(world);
  await settleProjections(world.service);
}

async function keyId(world: World): Promise<string> {
  const body = { name: "k", scope: "read", environment: "test" };
  const [path] = await instance("/keys")(world);
  return (await expect(world, 201, [path, body])).id;
}

function ofKey(action = "", body?: unknown): Ask {
  return async (world) => [`/api/keys/${await keyId(world)}${action}`, body];
}

function upload(
  fields: Readonly<Record<string, string>>,
  module: Uint8Array<ArrayBuffer> | Promise<Uint8Array<ArrayBuffer>>,
): Ask {
  return async ({ operator }) => {
    const form = new FormData();
    for (const [name, value] of Object.entries(fields)) form.set(name, value);
    form.set("file", new Blob([await module]));
    const sent = new Response(form);
    const headers = { "content-type": sent.headers.get("content-type")! };
    return ["/_admin/blobs", await sent.bytes(), { token: operator, headers }];
  };
}

async function placed(world: World): Promise<void> {
  await expect(world, 201, [`${ORDER}/was_placed`, { data: { sku: "stock" }, metadata: METADATA }]);
}

async function scheduledId(world: World): Promise<string> {
  await expect(world, 201, [`${ORDER}/was_promised`, { data: {}, metadata: METADATA }]);
  return firstOf(world, "/_scheduled", "scheduled_id");
}

async function anchored(world: World): Promise<JsonObject> {
  await note(world);
  const asked = asOperator("/_admin/anchors", { environment: "test" });
  return (await expect(world, 201, await asked(world))).anchor;
}

/** Two attempts, the first of which fails. */
function delivered(world: World): Promise<unknown> {
  return note(world).then(() => deliver(world.service));
}

/** Stores an error record, and returns its id once a later write is durable and hence it too. */
async function keepError(world: World): Promise<string> {
  const record = { error_type: "internal", message: "a", context: {}, request_id: "r" };
  world.host.timeMs += 1;
  const id = world.service.data.recordError(world.tenants.test, record);
  return await placed(world).then(() => id);
}

const BACKDATED = {
  key: "order:7KD2M9QXA",
  type: "was_noted",
  data: { text: "a" },
  metadata: { ...METADATA, timestamp: 1 },
};

/** A file of one line. */
function ofLines(path: string, event: object): Ask {
  const headers = { "content-type": "application/x-ndjson" };
  return ({ operator }) => [path, `${JSON.stringify(event)}\n`, { token: operator, headers }];
}

function imported(path: string, body: object) {
  return async (world: World) => await expect(world, 200, await asOperator(path, body)(world));
}

async function logInBadly(world: World): Promise<Asked> {
  await addAda(world);
  const body = { ...ADA, password: "not hers, but long" };
  for (let index = 0; index < 10; index++) await expect(world, 401, ["/api/login", body]);
  return ["/api/login", body];
}

const ADA = { email: "ada@example.com", password: "correct horse battery" };
const FOREIGN_TOKEN = signToken(operatorClaims({ instances: [UNKNOWN] }));

async function addAda({ send, operator }: World): Promise<void> {
  const { status } = await send("POST", "/api/users", { body: ADA, token: operator });
  assert.ok([201, 409].includes(status));
}

export const REQUESTS: Readonly<Record<string, Producers>> = {
  "POST /{type}/{id}/{event}": {
    201: post(`${ORDER}/was_noted`, NOTED),
    404: post("/nothing/7KD2M9QXA/was_noted", NOTED),
    409: post(`${ORDER}/was_noted`, { ...NOTED, metadata: { ...METADATA, previous_length: 9 } }),
    422: post(`${ORDER}/was_noted`, { ...NOTED, data: { text: "longer than that" } }),
  },
  "POST /{type}/{id}": {
    201: post(ORDER, BATCH),
    404: post(ORDER, { ...BATCH, events: [{ type: "was_lost" }] }),
    409: post(ORDER, { ...BATCH, metadata: { ...METADATA, previous_length: 9 } }),
    422: post("/order/short", BATCH),
  },
  "POST /_atomic-write": {
    201: post("/_atomic-write", atomic()),
    409: post("/_atomic-write", atomic({ previous_length: 9 })),
    422: post("/_atomic-write", atomic({ events: [{ type: "was_promised" }] })),
  },
  "GET /{type}/{id}": {
    200: afterNote(ORDER),
    204: waitForNothing,
    404: get("/order/0RDER0404"),
    422: get("/order/short"),
  },
  "GET /{type}/{id}/length": {
    200: get(`${ORDER}/length`),
    404: get("/nothing/7KD2M9QXA/length"),
    422: get("/order/short/length"),
  },
  "GET /{type}/{id}/events": {
    200: afterNote(`${ORDER}/events?count=9000&raw=true`),
    404: get("/nothing/7KD2M9QXA/events"),
    422: get("/order/short/events"),
  },
  "GET /{type}/{id}/events/{index}/effects": {
    200: async (
      world,
    ) => [await scheduledId(world).then(() => `${ORDER}/events/0/effects?depth=8`)],
    404: get("/order/0RDER0404/events/0/effects"),
    422: get(`${ORDER}/events/last/effects`),
  },
  "GET /_feed": { 200: afterNote("/_feed?types=order&raw=true"), 410: beyondFeed },
  "GET /_types": { 200: afterNote("/_types?limit=1") },
  "GET /{type}": {
    200: afterNote("/order?resolve=true&limit=900"),
    404: get("/nothing"),
  },
  "GET /{type}/nearby": {
    200: async (world) => {
      await expect(world, 201, [`${ORDER}/was_noted`, { ...NOTED, data: { at: BERLIN } }]);
      return ["/order/nearby?lat=52.5&lng=13.4&radius=2500.5&limit=900"];
    },
    404: get("/payment/nearby?lat=52.5&lng=13.4"),
  },
  "GET /{type}/{id}/audit/attestation/{index}": {
    200: async (world) => [await anchored(world).then(() => `${ORDER}/audit/attestation/0`)],
    404: get(`${ORDER}/audit/attestation/0`),
    409: async (world) => [await anchored(world).then(() => `${ORDER}/audit/attestation/99`)],
    422: async (world) => [await anchored(world).then(() => `${ORDER}/audit/attestation/first`)],
  },
  "GET /_audit/anchors": {
    200: async (world) => [await anchored(world).then(() => "/_audit/anchors")],
  },
  "GET /_audit/anchors/{id}": {
    200: async (world) => [await anchored(world).then(() => "/_audit/anchors/latest")],
    404: get("/_audit/anchors/anc_none"),
  },
  "GET /_audit/signing-key": { 200: get("/_audit/signing-key?all=true") },
  "GET /_audit/platform-anchors/latest": {
    200: async (world) => {
      const { order, placed } = PRODUCTION;
      const options = { environment: "production", token: world.keys.production.write } as const;
      await expect(world, 201, [order, placed, options]);
      world.host.timeMs += HOUR_MS;
      await world.service.audit.makeDueAnchors(HOUR_MS, () => false);
      return ["/_audit/platform-anchors/latest"];
    },
    404: get("/_audit/platform-anchors/latest"),
  },
  "GET /_audit/platform-key": { 200: get("/_audit/platform-key") },
  "POST /_admin/anchors": {
    200: asOperator("/_admin/anchors", { environment: "test" }),
    201: async (world) => {
      await note(world);
      return await asOperator("/_admin/anchors", { environment: "test" })(world);
    },
    404: asOperator("/_admin/anchors", { instance_id: UNKNOWN }),
  },
  "POST /_admin/reactions": {
    200: asOperator(REACTIONS, { action: "discard", filter: { kind: "saga" } }),
    404: asOperator(REACTIONS, { action: "resume", instance_id: UNKNOWN }),
  },
  "GET /_admin/reactions": {
    200: asOperator(REACTIONS),
    404: asOperator(`${REACTIONS}?instance_id=${UNKNOWN}`),
  },
  "POST /_admin/tombstones": {
    202: async (world) => await note(world).then(() => asOperator(TOMBSTONES, ERASURE)(world)),
    404: asOperator(TOMBSTONES, ERASURE),
    409: async (world) => {
      await note(world);
      const asked = await asOperator(TOMBSTONES, ERASURE)(world);
      await expect(world, 202, asked);
      return asked;
    },
    422: asOperator(TOMBSTONES, { ...ERASURE, key: "order" }),
  },
  "GET /_admin/tombstones": {
    200: asOperator(TOMBSTONES),
    404: asOperator(`${TOMBSTONES}?instance_id=${UNKNOWN}`),
  },
  "GET /_admin/tombstones/{id}": {
    200: ofErasure(erased),
    404: ofErasure("tmb_none"),
  },
  "DELETE /_admin/tombstones/{id}": {
    200: ofErasure(),
    404: ofErasure("tmb_none"),
    409: ofErasure(erased),
  },
  "POST /_admin/signing-keys": {
    201: asOperator("/_admin/signing-keys", { environment: "test" }),
    404: asOperator("/_admin/signing-keys", { instance_id: UNKNOWN }),
  },
  "GET /_errors": {
    200: async (world) => [await keepError(world).then(() => "/_errors")],
  },
  "GET /_errors/{id}": {
    200: async (world) => [`/_errors/${await keepError(world)}`],
    404: get("/_errors/err_none"),
  },
  "GET /_sagas": { 200: async (world) => [await placed(world).then(() => "/_sagas?limit=1")] },
  "GET /_sagas/{id}": {
    200: async (world) => [
      await placed(world).then(async () => `/_sagas/${await firstOf(world, "/_sagas", "saga_id")}`),
    ],
    404: get("/_sagas/saga_none"),
  },
  "GET /_scheduled": {
    200: async (world) => [await scheduledId(world).then(() => "/_scheduled")],
  },
  "GET /_scheduled/{id}": {
    200: async (world) => [`/_scheduled/${await scheduledId(world)}`],
    404: get(`/_scheduled/${UNKNOWN}`),
  },
  "DELETE /_scheduled/{id}": {
    200: async (world) => [`/_scheduled/${await scheduledId(world)}`],
    404: get(`/_scheduled/${UNKNOWN}`),
  },
  "POST /api/instances/{id}/projections": {
    200: async (world) => [...await deployed(world), { projection: ORDERS_SEEN }],
    201: toInstance("/projections", { projection: ORDERS_SEEN }),
    404: post(`/api/instances/${UNKNOWN}/projections`, { projection: ORDERS_SEEN }),
    422: toInstance("/projections", { projection: { name: "x" } }),
  },
  "GET /api/instances/{id}/projections": {
    200: deployed,
    404: get(`/api/instances/${UNKNOWN}/projections`),
  },
  "DELETE /api/instances/{id}/projections/{name}": {
    200: async (world) => [`${(await deployed(world))[0]}/orders_seen`],
    404: instance("/projections/nothing"),
  },
  "POST /_projections/query": {
    200: async (world) => [
      await shown(world).then(() => "/_projections/query"),
      { sql: "SELECT text FROM orders_seen WHERE key = :key", params: { key: "7KD2M9QXA" } },
    ],
    422: post("/_projections/query", { sql: "DELETE FROM orders_seen" }),
  },
  "GET /_projections/query": {
    200: async (world) => {
      const [path] = await instance("/projections")(world);
      await world.send("POST", path, { body: { projection: { ...ORDERS_SEEN, name: "query" } } });
      await settleProjections(world.service);
      return ["/_projections/query"];
    },
    404: get("/_projections/query"),
  },
  "GET /_projections/{name}": {
    200: async (world) => [await shown(world).then(() => "/_projections/orders_seen")],
    404: get("/_projections/nothing"),
  },
  "GET /_projections/{name}/{key}": {
    200: async (world) => [await shown(world).then(() => "/_projections/orders_seen/7KD2M9QXA")],
    404: get("/_projections/nothing/7KD2M9QXA"),
    422: async (world) => [await shown(world).then(() => "/_projections/orders_seen/short")],
  },
  "GET /_projections/{name}/export.csv": {
    200: async (world) => [await shown(world).then(() => "/_projections/orders_seen/export.csv")],
    400: async (world) => [
      await shown(world).then(() => "/_projections/orders_seen/export.csv?columns=nothing"),
    ],
    404: get("/_projections/nothing/export.csv"),
  },
  "GET /_listeners": { 200: get("/_listeners") },
  "GET /_listeners/{name}/deliveries": {
    200: async (world) => [await delivered(world).then(() => "/_listeners/hook/deliveries")],
    404: get("/_listeners/none/deliveries"),
  },
  "POST /_listeners/{name}/replay": {
    202: async (world) => {
      await delivered(world);
      return ["/_listeners/hook/replay", { since: "2026-01-01T00:00:00Z" }];
    },
    404: post("/_listeners/none/replay", { since: "2026-01-01T00:00:00Z" }),
    422: post("/_listeners/idle/replay", { since: "2026-01-01T00:00:00Z" }),
  },
  "POST /api/login": {
    200: async (world) => {
      await addAda(world);
      return ["/api/login", ADA, { token: null }];
    },
    401: post("/api/login", ADA),
    429: logInBadly,
  },
  "POST /api/users": {
    201: post("/api/users", ADA),
    409: async (world) => ["/api/users", await addAda(world).then(() => ADA)],
    422: post("/api/users", { ...ADA, password: "short" }),
  },
  "GET /api/instances": { 200: get("/api/instances") },
  "POST /api/instances": {
    201: post("/api/instances", { slug: "another" }),
    409: post("/api/instances", { slug: "shop" }),
    422: post("/api/instances", { slug: "-" }),
  },
  "GET /api/instances/{id}": { 200: instance(), 404: get(`/api/instances/${UNKNOWN}`) },
  "PATCH /api/instances/{id}": {
    200: toInstance("", { tier: "pro" }),
    404: post(`/api/instances/${UNKNOWN}`, { tier: "pro" }),
    422: toInstance("", { tier: "gold" }),
  },
  "POST /api/instances/{id}/spec": {
    200: toInstance("/spec", { environment: "test", spec: openApiSpec }),
    404: post(`/api/instances/${UNKNOWN}/spec`, { spec: openApiSpec }),
    422: toInstance("/spec", { spec: {} }),
  },
  "GET /api/instances/{id}/spec": {
    200: instance("/spec?environment=test"),
    404: get(`/api/instances/${UNKNOWN}/spec`),
  },
  "GET /api/instances/{id}/specs": {
    200: instance("/specs"),
    404: get(`/api/instances/${UNKNOWN}/specs`),
  },
  "GET /api/instances/{id}/usage": {
    200: instance("/usage?month=2026-01"),
    400: instance("/usage?month=2026-13"),
    404: get(`/api/instances/${UNKNOWN}/usage`),
  },
  "GET /api/instances/{id}/keys": {
    200: instance("/keys"),
    404: get(`/api/instances/${UNKNOWN}/keys`),
  },
  "POST /api/instances/{id}/keys": {
    201: toInstance("/keys", { name: "k", scope: "read" }),
    404: post(`/api/instances/${UNKNOWN}/keys`, { name: "k", scope: "read" }),
    422: toInstance("/keys", { name: "k", scope: "all" }),
  },
  "DELETE /api/keys/{id}": { 200: ofKey(), 404: get("/api/keys/key_none") },
  "POST /api/keys/{id}/rotate": {
    201: ofKey("/rotate", {}),
    404: post("/api/keys/none/rotate", {}),
  },
  "POST /api/keys/{id}/schedule_revocation": {
    200: ofKey("/schedule_revocation", { revoke_at: "2030-01-01T00:00:00Z" }),
    404: post("/api/keys/none/schedule_revocation", { revoke_at: "2030-01-01T00:00:00Z" }),
    422: ofKey("/schedule_revocation", { revoke_at: "soon" }),
  },
  "POST /_admin/blobs": {
    201: upload({ name: "order" }, HANDLER),
    404: upload({ name: "order", instance_id: UNKNOWN }, HANDLER),
    422: upload({ name: "order" }, new Uint8Array(4)),
  },
  "GET /_admin/blobs": {
    200: asOperator("/_admin/blobs"),
    404: asOperator(`/_admin/blobs?instance_id=${UNKNOWN}`),
  },
  "GET /_admin/backup": { 200: asOperator("/_admin/backup") },
  "GET /_admin/restored": { 200: asOperator("/_admin/restored") },
  "POST /_admin/restored": {
    200: asOperator("/_admin/restored", { action: "resume" }),
    422: asOperator("/_admin/restored", { action: "pause" }),
  },
  "POST /_admin/debug": {
    200: asOperator("/_admin/debug", { wasm_trace: true }),
    404: asOperator("/_admin/debug", { wasm_trace: true, instance_id: UNKNOWN }),
  },
  "GET /_admin/debug": {
    200: asOperator("/_admin/debug"),
    404: asOperator(`/_admin/debug?instance_id=${UNKNOWN}`),
  },
  "POST /_admin/import": {
    200: asOperator("/_admin/import", { events: [BACKDATED] }),
    404: asOperator("/_admin/import", { events: [BACKDATED], instance_id: UNKNOWN }),
    409: async (world) => {
      const other = { ...BACKDATED, data: { text: "b" } };
      await imported("/_admin/import", { import_id: "a", events: [other] })(world);
      return await asOperator("/_admin/import", { import_id: "a", events: [BACKDATED] })(world);
    },
    422: asOperator("/_admin/import", { events: [{ ...BACKDATED, type: "was_eaten" }] }),
  },
  "POST /_admin/import_jsonl": {
    200: ofLines("/_admin/import_jsonl", BACKDATED),
    404: ofLines(`/_admin/import_jsonl?instance_id=${UNKNOWN}`, BACKDATED),
    409: async (world) => {
      await imported("/_admin/import", { import_id: "a", events: [BACKDATED] })(world);
      return await ofLines("/_admin/import_jsonl?import_id=a", BACKDATED)(world);
    },
    422: ofLines("/_admin/import_jsonl", { ...BACKDATED, key: "order:nobody" }),
  },
  "POST /_admin/cold_start": {
    200: ofLines("/_admin/cold_start", BACKDATED),
    404: ofLines(`/_admin/cold_start?instance_id=${UNKNOWN}`, BACKDATED),
    409: async (world) => {
      await note(world);
      return await ofLines("/_admin/cold_start", BACKDATED)(world);
    },
    422: ofLines("/_admin/cold_start", { ...BACKDATED, data: { text: "longer than that" } }),
  },
  "GET /_admin/imports": {
    200: async (world) => {
      await imported("/_admin/import", { events: [BACKDATED] })(world);
      return await asOperator("/_admin/imports")(world);
    },
    404: asOperator(`/_admin/imports?instance_id=${UNKNOWN}`),
  },
  "GET /_admin/imports/{id}": {
    200: async (world) => {
      await imported("/_admin/import", { import_id: "a", events: [BACKDATED] })(world);
      return await asOperator("/_admin/imports/a")(world);
    },
    404: asOperator("/_admin/imports/b"),
  },
  "GET /": { 200: get("/") },
  "GET /health/live": { 200: get("/health/live") },
  "GET /health/ready": { 200: get("/health/ready") },
  "GET /metrics": {
    200: asOperator("/metrics"),
    401: () => ["/metrics", undefined, { token: null }],
    403: () => ["/metrics", undefined, { token: FOREIGN_TOKEN }],
  },
  "GET /openapi.json": {
    200: get("/openapi.json"),
    401: () => ["/openapi.json", undefined, { token: "dbk_0_test_none" }],
    403: ({ keys }) => ["/openapi.json", undefined, { token: keys.production.read }],
  },
};
