/** The spec: its document, deploying it, and which changes a redeploy may make. */

import assert from "node:assert/strict";
import type { JsonObject, JsonValue } from "../../src/domain/json.ts";
import type { Environment } from "../../src/domain/tenant.ts";
import { type Case, refusal, testCases } from "./cases.ts";
import { withWorld, type World } from "./world.ts";
import { noteBody, worldSpec } from "./world_spec.ts";

const DEPLOY = "POST /api/instances/{instance}/spec";
const EVENT: JsonObject = { schema: true, handler: [] };

/** The smallest spec, with `change` merged into its root. */
function small(change: JsonObject = {}): JsonObject {
  return {
    agent_types: ["user"],
    aggregate_types: { order: { events: { was_placed: EVENT } } },
    ...change,
  };
}

/** A spec whose JSON has exactly this many bytes. */
function specOfBytes(bytes: number): JsonObject {
  const rest = JSON.stringify(small({ description: "" })).length;
  return small({ description: "x".repeat(bytes - rest) });
}

function withEvent(definition: JsonValue, name = "was_placed"): JsonObject {
  return small({ aggregate_types: { order: { events: { [name]: definition } } } });
}

function withType(name: string): JsonObject {
  return small({ aggregate_types: { [name]: { events: {} } } });
}

function without(field: string): JsonObject {
  const spec = small();
  delete spec[field];
  return spec;
}

const system: JsonObject = { handler: [] };
const TAKEN: readonly (readonly [string, JsonObject])[] = [
  ["the smallest spec", small()],
  ["target_types", small({ target_types: ["customer"] })],
  ["modules with never_cache", small({ modules: { never_cache: ["order"] } })],
  ["modules with empty sagas", small({ modules: { sagas: {} } })],
  ["empty geo_types", small({ geo_types: {} })],
  ["singletons", small({ singletons: ["main", "Main_2"] })],
  ["$schema, ignored", small({ $schema: "https://example.com/spec.json" })],
  [
    "title, description and examples at the root",
    small({ title: "t", description: "d", examples: [] }),
  ],
  [
    "title, description and examples on an aggregate type",
    small({
      aggregate_types: { order: { title: "t", description: "d", examples: [1], events: {} } },
    }),
  ],
  [
    "title, description and examples on an event type",
    withEvent({ ...EVENT, title: "t", description: "d", examples: [{}] }),
  ],
  [
    "a handler of one operation",
    withEvent({ schema: true, handler: { set: { target: "a", value: 1 } } }),
  ],
  [
    "a handler of several operations",
    withEvent({
      schema: true,
      handler: [{ set: { target: "", value: "$.data" } }, { append: { target: "a", value: 1 } }],
    }),
  ],
  [
    "a conditional handler",
    withEvent({
      schema: true,
      handler: { if: { eq: ["$.data.a", 1] }, then: [{ set: { target: "a", value: 1 } }] },
    }),
  ],
  ["a handler [] that changes nothing", withEvent(EVENT)],
  ["empty implications", withEvent({ ...EVENT, implications: [] })],
  ["allow_skip_occ", withEvent({ ...EVENT, allow_skip_occ: true })],
  ["a reserved event type with a handler", withEvent(system, "_was_tombstoned")],
  ["a reserved event type without a handler", withEvent({}, "_was_tombstoned")],
  [
    "a JSON Schema of Draft 2020-12",
    withEvent({
      schema: { type: "object", properties: { a: { prefixItems: [{}], unevaluatedItems: false } } },
      handler: [],
    }),
  ],
  ["a type name of 64 characters", withType(`a${"b".repeat(63)}`)],
];
testCases(
  "a spec takes",
  TAKEN.map(([name, spec]): Case => ({
    name,
    call: DEPLOY,
    world: { spec: null },
    body: { spec, environment: "test" },
    status: 200,
    answer:
      /^\{"ok":true,"spec_hash":"[0-9a-f]{64}","version":1,"changes":\[.+\],"warnings":\[\]\}$/,
  })),
);

const REFUSED: readonly (readonly [name: string, spec: JsonObject, path: string])[] = [
  ["no aggregate_types", without("aggregate_types"), "aggregate_types"],
  ["no agent_types", without("agent_types"), "agent_types"],
  ["empty agent_types", small({ agent_types: [] }), "agent_types"],
  ["agent_types that are no list", small({ agent_types: "user" }), "agent_types"],
  ...["system", "system_agent", "systemic"].map((type) =>
    [`the agent type ${type}`, small({ agent_types: ["user", type] }), "agent_types"] as const
  ),
  ["target_types that are no list", small({ target_types: {} }), "target_types"],
  ["singletons that are no list", small({ singletons: {} }), "singletons"],
  ["the singleton nearby", small({ singletons: ["nearby"] }), "singletons"],
  [
    "never_cache of an unknown type",
    small({ modules: { never_cache: ["x"] } }),
    "modules.never_cache",
  ],
  ["an unknown module", small({ modules: { magic: {} } }), "modules.magic"],
  ...[
    "version",
    "default",
    "deprecated",
    "readOnly",
    "writeOnly",
    "$id",
    "$defs",
    "definitions",
    "anything",
  ]
    .map((key) => [`the key ${key} at the root`, small({ [key]: 1 }), key] as const),
  [
    "an unknown key on an aggregate type",
    small({ aggregate_types: { order: { events: {}, version: 1 } } }),
    "aggregate_types.order.version",
  ],
  [
    "an unknown key on an event type",
    withEvent({ ...EVENT, deprecated: true }),
    "aggregate_types.order.events.was_placed.deprecated",
  ],
  [
    "an event type without schema",
    withEvent({ handler: [] }),
    "aggregate_types.order.events.was_placed",
  ],
  [
    "an event type without handler",
    withEvent({ schema: true }),
    "aggregate_types.order.events.was_placed",
  ],
  [
    "a reserved event type with a schema",
    withEvent(EVENT, "_was_tombstoned"),
    "aggregate_types.order.events._was_tombstoned",
  ],
  [
    "a schema that is none",
    withEvent({ schema: { type: "number?" }, handler: [] }),
    "aggregate_types.order.events.was_placed.schema",
  ],
  [
    "an unknown operation",
    withEvent({ schema: true, handler: { sett: {} } }),
    "aggregate_types.order.events.was_placed.handler",
  ],
  [
    "an operation with an unknown field",
    withEvent({ schema: true, handler: { set: { target: "a", value: 1, x: 1 } } }),
    "aggregate_types.order.events.was_placed.handler",
  ],
  [
    "a bad path",
    withEvent({ schema: true, handler: { set: { target: "a", value: "$.nowhere.x" } } }),
    "aggregate_types.order.events.was_placed.handler",
  ],
  [
    "allow_skip_occ that is no boolean",
    withEvent({ ...EVENT, allow_skip_occ: "yes" }),
    "aggregate_types.order.events.was_placed.allow_skip_occ",
  ],
  ...["api", "health", "metrics", "Order", "1st", "a-b", `a${"b".repeat(64)}`].map((name) =>
    [`the aggregate type ${name.slice(0, 8)}`, withType(name), "aggregate_types"] as const
  ),
  ...["length", "events", "audit", "Was", "was-placed"].map((name) =>
    [`the event type ${name}`, withEvent(EVENT, name), "aggregate_types.order.events"] as const
  ),
];
for (const [name, spec, path] of REFUSED) {
  Deno.test(`a spec refuses ${name}: 422 spec_invalid with path and violations`, () =>
    withWorld(async (world) => {
      const { status, body } = await deploy(world, spec);
      assert.deepEqual([status, body.error_type], [422, "spec_invalid"], JSON.stringify(body));
      assert.ok(body.path.startsWith(path), `${body.path} is at ${path}`);
      assert.ok(body.violations.length > 0);
      for (const violation of body.violations) {
        assert.deepEqual(Object.keys(violation), ["rule", "path", "message", "hint"]);
      }
    }, { spec: null }));
}

function deploy(world: World, spec: JsonValue, more: JsonObject = {}) {
  const body = { environment: "test", spec, ...more };
  return world.send("POST", `/api/instances/${world.instanceId}/spec`, { body });
}

function schemaOf(change: JsonObject): JsonObject {
  const properties = {
    a: { type: "string" },
    deep: { type: "object", properties: { b: { type: "string" } } },
  };
  return { type: "object", properties, ...change };
}

const before = withEvent({ schema: schemaOf({}), handler: [] });

function deeper(deep: JsonObject): JsonObject {
  const schema = schemaOf({ properties: { a: { type: "string" }, deep } });
  return withEvent({ schema, handler: [] });
}

const BLOCKED: readonly (readonly [name: string, spec: JsonObject, rule: string])[] = [
  ["1. removing an aggregate type", withType("parcel"), "aggregate_type_removed"],
  ["2. removing an event type", withEvent(EVENT, "was_sent"), "event_type_removed"],
  [
    "3. a new required field in an existing event schema",
    withEvent({ schema: schemaOf({ required: ["a"] }), handler: [] }),
    "required_added",
  ],
  [
    "3. a new required field in a nested schema",
    deeper({ type: "object", properties: { b: { type: "string" } }, required: ["b"] }),
    "required_added",
  ],
  [
    "4. changing the type of an existing property",
    withEvent({
      schema: schemaOf({ properties: { a: { type: "integer" }, deep: { type: "object" } } }),
      handler: [],
    }),
    "type_changed",
  ],
  [
    "4. changing the type of a nested property",
    deeper({ type: "object", properties: { b: { type: "number" } } }),
    "type_changed",
  ],
  [
    "5. additionalProperties: false where it was allowed",
    withEvent({ schema: schemaOf({ additionalProperties: false }), handler: [] }),
    "additional_properties_closed",
  ],
  [
    "5. additionalProperties: false in a nested schema",
    deeper({ type: "object", properties: { b: { type: "string" } }, additionalProperties: false }),
    "additional_properties_closed",
  ],
];
for (const [name, spec, rule] of BLOCKED) {
  Deno.test(`a redeploy blocks ${name}: 422 spec_incompatible; force passes it outside production`, () =>
    withWorld(async (world) => {
      const refused = await deploy(world, spec);
      assert.deepEqual([refused.status, refused.body.error_type], [422, "spec_incompatible"]);
      assert.equal(refused.body.violations[0].rule, rule);
      assert.equal(refused.body.path, refused.body.violations[0].path);
      for (const environment of ["test", "staging"]) {
        const forced = await deploy(world, spec, { force: true, environment });
        assert.equal(forced.status, 200, forced.text);
      }
      const production = await deploy(world, spec, { environment: "production" });
      assert.equal(production.status, 422);
      const both = await deploy(world, spec, { environment: "production", force: true });
      const text = "force is not allowed in production: a production spec stays compatible";
      assert.deepEqual([both.status, both.body], [403, refusal("forbidden", text)]);
    }, { spec: before }));
}

const ALLOWED: readonly (readonly [string, JsonObject])[] = [
  [
    "new aggregate types",
    small({ aggregate_types: { ...before.aggregate_types as JsonObject, parcel: { events: {} } } }),
  ],
  [
    "new event types",
    small({
      aggregate_types: {
        order: { events: { was_placed: { schema: schemaOf({}), handler: [] }, was_sent: EVENT } },
      },
    }),
  ],
  [
    "new optional fields",
    withEvent({
      schema: schemaOf({
        properties: {
          a: { type: "string" },
          c: { type: "null" },
          deep: { type: "object", properties: { b: { type: "string" }, d: {} } },
        },
      }),
      handler: [],
    }),
  ],
  [
    "changed handlers",
    withEvent({ schema: schemaOf({}), handler: { set: { target: "a", value: 1 } } }),
  ],
];
for (const [name, spec] of ALLOWED) {
  for (const environment of ["production", "test"]) {
    Deno.test(`a redeploy always allows ${name} (${environment})`, () =>
      withWorld(async (world) => {
        const { status, body } = await deploy(world, spec, { environment });
        assert.deepEqual([status, body.version], [200, 2], JSON.stringify(body));
        assert.ok(body.changes.length > 0);
      }, { spec: before }));
  }
}

testCases("a deploy", [
  {
    name: "without spec is 400",
    call: DEPLOY,
    body: { environment: "test" },
    status: 400,
    answer: refusal("bad_request", "spec is required", { path: "spec" }),
  },
  ...[null, [], "x"].map((spec): Case => ({
    name: `of ${JSON.stringify(spec)} is 400`,
    call: DEPLOY,
    body: { spec },
    status: 400,
    answer: refusal("bad_request", "spec must be an object", { path: "spec" }),
  })),
  {
    name: "with an unknown field beside spec is 400",
    call: DEPLOY,
    body: { spec: worldSpec, note: "x" },
    status: 400,
    answer: refusal("bad_request", "Unknown field: note", {
      path: "note",
      hint:
        'A spec is sent in an envelope: {"spec": {"aggregate_types": {...}}, "environment": "test"}',
    }),
  },
  {
    name: "with force that is no boolean is 400",
    call: DEPLOY,
    body: { spec: worldSpec, force: "yes" },
    status: 400,
    answer: refusal("bad_request", "force must be a boolean", { path: "force" }),
  },
  {
    name: "of a spec of 1,048,576 bytes is taken",
    call: DEPLOY,
    body: { spec: specOfBytes(1_048_576), force: true },
    status: 200,
  },
  {
    name: "of a spec of one byte more is 413",
    call: DEPLOY,
    body: { spec: specOfBytes(1_048_577) },
    status: 413,
    answer: /"error_type":"payload_too_large".*"limit":1048576/,
  },
  {
    name: "to an instance that does not exist is 404",
    call: "POST /api/instances/5b3e1a7c-9d24-4f6a-8b1e-0c2d3e4f5a6b/spec",
    body: { spec: worldSpec },
    status: 404,
    answer: refusal("not_found", "Instance not found"),
  },
]);

Deno.test("a deploy of a spec that is the same as the current one is a no-op, key order aside", () =>
  withWorld(async (world) => {
    const first = await deploy(world, small());
    const { agent_types, aggregate_types } = small();
    const again = await deploy(world, {
      aggregate_types: aggregate_types!,
      agent_types: agent_types!,
    });
    assert.deepEqual(
      [again.status, again.body.version, again.body.spec_hash, again.body.changes],
      [200, first.body.version, first.body.spec_hash, []],
    );
    const list = await world.send("GET", `/api/instances/${world.instanceId}/specs`);
    assert.equal(list.body.data.length, 1);
  }, { spec: null }));

Deno.test("annotations are hashed: another title is another version", () =>
  withWorld(async (world) => {
    const one = await deploy(world, small({ title: "one" }));
    const two = await deploy(world, small({ title: "two" }));
    assert.notEqual(one.body.spec_hash, two.body.spec_hash);
    assert.equal(two.body.version, 2);
  }, { spec: null }));

Deno.test("dry_run answers as a deploy would, and deploys nothing", () =>
  withWorld(async (world) => {
    const dry = await deploy(world, small(), { dry_run: true });
    assert.equal(dry.status, 200);
    const path = `/api/instances/${world.instanceId}/spec`;
    assert.equal((await world.send("GET", path)).status, 404);
    const real = await deploy(world, small());
    assert.deepEqual(real.body, dry.body);
    assert.equal((await deploy(world, withType("x"), { dry_run: true })).status, 422);
  }, { spec: null }));

Deno.test("check_data tells what the data of that environment, and no other one, would meet", () =>
  withWorld(async (world) => {
    const { send } = world;
    const key = "note:global";
    for (const [environment, texts] of [["test", ["a", "b"]], ["production", ["p"]]] as const) {
      for (const text of texts) {
        const asked = { environment, body: noteBody(text) };
        assert.equal((await send("POST", "/note/global/was_written", asked)).status, 201);
      }
    }
    const types = structuredClone(worldSpec.aggregate_types) as Record<string, JsonObject>;
    types.note = {
      events: {
        was_written: {
          schema: { type: "object", properties: { text: { enum: ["b", "p"] } } },
          handler: { set: { target: "last", value: "$.data.text" } },
          allow_skip_occ: true,
        },
        was_filed: { schema: true, handler: [] },
      },
    };
    const spec = { ...worldSpec, aggregate_types: types };
    const how = { dry_run: true, check_data: true };
    const answer = await deploy(world, spec, { ...how, force: true });
    assert.equal(answer.status, 200, answer.text);
    const { data_check } = answer.body;
    const message = data_check.refused[0].examples[0].details[0].message;
    assert.match(message, /one of/);
    const details = [{ path: "data.text", message }];
    assert.deepEqual(data_check, {
      events: 2,
      refused: [{
        event_type: "note.was_written",
        count: 1,
        examples: [{ key, id: "000000000000", details }],
      }],
      aggregates: 1,
      changed: [{
        type: "note",
        count: 1,
        examples: [{ key, before: { texts: ["a", "b"] }, after: { last: "b" } }],
      }],
      complete: true,
    });
    const elsewhere = await deploy(world, worldSpec, { ...how, environment: "production" });
    assert.deepEqual(elsewhere.body.data_check, {
      events: 1,
      refused: [],
      aggregates: 1,
      changed: [],
      complete: true,
    });
    assert.deepEqual((await send("GET", "/note/global")).body.data, { texts: ["a", "b"] });
  }));

Deno.test("check_data is refused where nothing is a dry run, and then nothing is deployed", () =>
  withWorld(async (world) => {
    const { status, body } = await deploy(world, small(), { check_data: true });
    const text = "check_data is for dry runs: send dry_run too";
    assert.deepEqual([status, body], [400, refusal("bad_request", text, { path: "check_data" })]);
    assert.equal((await world.send("GET", `/api/instances/${world.instanceId}/spec`)).status, 404);
    assert.equal((await deploy(world, small(), { check_data: "yes" })).status, 400);
    // An environment without a spec has nothing to try.
    const dry = await deploy(world, small(), { check_data: true, dry_run: true });
    const none = { events: 0, refused: [], aggregates: 0, changed: [], complete: true };
    assert.deepEqual(dry.body.data_check, none);
    assert.equal((await deploy(world, small(), { check_data: false })).status, 200);
  }, { spec: null }));

Deno.test("dry_run in the query is refused, and deploys nothing: it belongs in the body", () =>
  withWorld(async (world) => {
    const path = `/api/instances/${world.instanceId}/spec`;
    const body = { environment: "test", spec: small() };
    const told = await world.send("POST", `${path}?dry_run=true`, { body });
    assert.equal(told.status, 400);
    assert.equal(told.body.error, "Unknown query parameter 'dry_run'");
    assert.equal((await world.send("GET", path)).status, 404);
  }, { spec: null }));

Deno.test("GET .../spec is the current document, GET .../specs the history, each of its environment", () =>
  withWorld(async (world) => {
    const path = `/api/instances/${world.instanceId}`;
    const none = await world.send("GET", `${path}/spec?environment=prod`);
    const text = "No spec has been deployed to production yet";
    assert.deepEqual([none.status, none.body], [404, refusal("not_found", text)]);
    const specs = [small({ title: "one" }), small({ title: "two" })];
    const hashes: string[] = [];
    for (const spec of specs) {
      hashes.push((await deploy(world, spec, { environment: "production" })).body.spec_hash);
    }
    const { body } = await world.send("GET", `${path}/spec?environment=production`);
    assert.deepEqual([body.version, body.spec_hash, body.spec], [2, hashes[1], specs[1]]);
    const history = (await world.send("GET", `${path}/specs?environment=production`)).body;
    assert.deepEqual(
      history.data.map(({ version, spec_hash }: JsonObject) => [version, spec_hash]),
      [[1, hashes[0]], [2, hashes[1]]],
    );
    assert.equal((await world.send("GET", `${path}/specs?environment=test`)).body.data.length, 0);
  }, { spec: null }));

Deno.test("a redeploy recomputes aggregates from events, for the very next read, snapshots and all", () =>
  withWorld(async (world) => {
    await world.send("POST", "/note/main/was_written", { body: noteBody("a") });
    assert.deepEqual((await world.send("GET", "/note/main")).body.data, { texts: ["a"] });
    await world.service.background.rebuildSnapshots(10);
    const spec = structuredClone(worldSpec);
    const types = spec.aggregate_types as Record<string, { events: Record<string, JsonObject> }>;
    types.note!.events.was_written!.handler = { set: { target: "last", value: "$.data.text" } };
    assert.equal((await deploy(world, spec)).status, 200);
    for (const query of ["", "?synchronous"]) {
      assert.deepEqual((await world.send("GET", `/note/main${query}`)).body.data, { last: "a" });
    }
    const page = (await world.send("GET", "/note?resolve")).body.data;
    assert.deepEqual(page[0].data, { last: "a" });
    const environment: Environment = "staging";
    assert.equal((await world.send("GET", "/note/main", { environment })).body.metadata.length, 0);
  }));

const HINT =
  "No spec is deployed to this environment yet: POST /api/instances/{id}/spec deploys one";
const NO_SPEC = refusal("not_found", "Aggregate type 'note' not found in spec", { hint: HINT });
testCases("an environment without a spec", [
  ...["GET /note", "GET /note/global", "GET /note/global/length", "GET /note/global/events"].map(
    (call): Case => ({
      name: `${call} is 404 with the exact text and a hint`,
      call,
      world: { spec: null },
      status: 404,
      answer: NO_SPEC,
    }),
  ),
  {
    name: "a write is 404 with the exact text and a hint",
    call: "POST /note/global/was_written",
    world: { spec: null },
    body: noteBody("a"),
    status: 404,
    answer: NO_SPEC,
  },
  {
    name: "with a spec there is no hint",
    call: "GET /parcel",
    status: 404,
    answer: refusal("not_found", "Aggregate type 'parcel' not found in spec"),
  },
]);
