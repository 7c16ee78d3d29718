/** Paths that are offered for a schema, held against what the handler language reads by them. */

import assert from "node:assert/strict";
import { eventPaths } from "../../../console/src/spec/data_paths.ts";
import { newFoldBudget } from "../../../src/domain/handler/budget.ts";
import { compileHandler } from "../../../src/domain/handler/compile_handler.ts";
import { fold } from "../../../src/domain/handler/fold.ts";
import type { JsonObject, JsonValue } from "../../../src/domain/json.ts";

const SCHEMA: JsonObject = {
  type: "object",
  properties: {
    customer: { $ref: "#/$defs/person" },
    "odd key": { type: ["string", "null"] },
    'a "quoted" one': { type: "string" },
    lines: { type: "array", items: { type: "object", properties: { sku: { type: "string" } } } },
  },
  anyOf: [{ properties: { paid: { type: "boolean" } } }, { properties: { due: {} } }],
  $defs: { person: { type: "object", properties: { name: { type: "string" } } } },
};

const DATA = {
  customer: { name: "Ada" },
  "odd key": 7,
  'a "quoted" one': 8,
  lines: [{ sku: "TEA" }, { sku: "MUG" }],
  paid: true,
  due: 9,
};

/** What a handler reads by the path. */
function readBy(path: string): unknown {
  const compiled = compileHandler({ set: { target: "read", value: path } }, "handler");
  assert.ok(compiled.ok, path);
  const event = {
    key: "order:A",
    type: "was_placed",
    data: DATA,
    metadata: { actor: { type: "user", id: "global" }, timestamp: 1_700_000_000 },
  };
  const folded = fold(new Map([["was_placed", compiled.handler]]), {}, [event], newFoldBudget());
  assert.ok(folded.ok);
  return folded.value.read;
}

Deno.test("eventPaths() has every value of the schema, and each path reads it", () => {
  const read = eventPaths(SCHEMA).map(({ path }) => readBy(path));
  assert.deepEqual(read, [
    DATA,
    true,
    9,
    { name: "Ada" },
    "Ada",
    7,
    8,
    [{ sku: "TEA" }, { sku: "MUG" }],
    [{ sku: "TEA" }, { sku: "MUG" }],
    ["TEA", "MUG"],
    "A",
    "order:A",
    "was_placed",
    1_700_000_000,
    "global",
  ]);
});

Deno.test("eventPaths() tells the types that a value may have", () => {
  const details = new Map(eventPaths(SCHEMA).map(({ path, detail }) => [path, detail]));
  assert.equal(details.get('$.data["odd key"]'), "string or null");
  assert.equal(details.get("$.data.lines[*].sku"), "string");
  assert.equal(details.get("$.data.due"), "");
});

Deno.test("eventPaths() ends for a schema that refers to itself, is huge, or is none", () => {
  const endless = { properties: { next: { $ref: "#" } }, allOf: [{ $ref: "#" }] };
  assert.ok(eventPaths(endless).length < 20);
  const many = { anyOf: Array.from({ length: 500 }, () => ({ $ref: "#" })) };
  assert.equal(eventPaths(many)[0]!.path, "$.data");
  const names = Array.from({ length: 10_000 }, (_, at) => [`name_${at}`, {}]);
  assert.ok(eventPaths({ properties: Object.fromEntries(names) }).length <= 305);
  for (const none of [undefined, null, true, 1, "x", [], { $ref: "#/nowhere" }, { $ref: 1 }]) {
    assert.equal(eventPaths(none as JsonValue | undefined)[0]!.path, "$.data");
  }
  const own = JSON.parse('{"properties": {"__proto__": {"type": "string"}, "constructor": {}}}');
  assert.deepEqual(eventPaths(own).slice(1, 3).map(({ path }) => path), [
    "$.data.__proto__",
    "$.data.constructor",
  ]);
});
