/**
 * Handlers that are allowed but probably not meant: which texts get a warning and which do not.
 */

import assert from "node:assert/strict";
import type { JsonValue } from "../../../src/domain/json.ts";
import { compileSpec, compileSpecSteps } from "../../../src/domain/spec/compile.ts";
import { runAtOnce } from "../../../src/domain/fairness/pieces.ts";
import { createFaultList } from "../../../src/domain/spec/fault_list.ts";
import { warnOfPaths } from "../../../src/domain/spec/handler_warnings.ts";
import { lookedUp } from "../../support/looked_up.ts";

const CLOSED: JsonValue = {
  type: "object",
  additionalProperties: false,
  properties: {
    customer: {
      type: "object",
      additionalProperties: false,
      properties: { name: { type: "string" } },
    },
    lines: {
      type: "array",
      items: { additionalProperties: false, properties: { sku: { type: "string" } } },
    },
    notes: { type: "object" },
    who: { oneOf: [{ type: "string" }, { $ref: "#/$defs/person" }] },
    boss: { $ref: "#/$defs/person" },
    tags: { additionalProperties: false, patternProperties: { "^x": true } },
  },
  $defs: { person: { additionalProperties: false, properties: { name: true } } },
};

function specWith(handler: JsonValue, schema: JsonValue) {
  return {
    agent_types: ["user"],
    aggregate_types: { order: { events: { was_placed: { schema, handler } } } },
  };
}

function warningsOf(handler: JsonValue, schema: JsonValue = CLOSED) {
  const compiled = compileSpec(specWith(handler, schema));
  assert(compiled.ok, JSON.stringify(compiled));
  const at = "aggregate_types.order.events.was_placed.handler";
  return compiled.warnings.map(({ rule, path, hint }) => [rule, path.replace(at, ""), hint]);
}

function set(value: JsonValue): JsonValue {
  return [{ set: { target: "a", value } }];
}

const BEYOND: readonly (readonly [path: string, hint: RegExp])[] = [
  ["$.data.custmer", /^Did you mean "customer"\?$/],
  ["$.data.customer.nme", /^Did you mean "name"\?$/],
  ["$.data.customer.name.first", /Declare it/],
  ["$.data.customer.address", /Declare it/],
  ["$.data.lines[0].qty", /Declare it/],
  ["$.data.lines[*].qty?", /Declare it/],
  ["$.data.customer[0]", /Declare it/],
  ["$.data.boss.age", /Declare it/],
  ['$.data["odd key"]', /Declare it/],
];
for (const [path, hint] of BEYOND) {
  Deno.test(`a deploy warns of ${path}, which the closed schema rules out`, () => {
    const [warning, ...others] = warningsOf(set(path));
    assert.deepEqual(warning?.slice(0, 2), ["path_beyond_schema", "[0].set.value"]);
    assert.match(warning?.[2] ?? "", hint);
    assert.deepEqual(others, []);
  });
}

const POSSIBLE = [
  "$.data",
  "$.data.customer.name",
  "$.data.lines[*].sku",
  "$.data.lines[3]",
  "$.data.lines.0.sku",
  "$.data.notes.anything.at.all",
  "$.data.who.name",
  "$.data.who.age",
  "$.data.tags.x1",
  "$.data.boss.name.first",
  "$.metadata.timestamp",
];
for (const path of POSSIBLE) {
  Deno.test(`a deploy says nothing of ${path}, which the schema allows or does not judge`, () => {
    assert.deepEqual(warningsOf(set(path)), []);
  });
}

Deno.test("a deploy says nothing of paths into data that may have more than is declared", () => {
  const open = { type: "object", properties: { a: { type: "string" } } };
  for (
    const schema of [open, true, {}, { ...open, if: {}, then: {}, additionalProperties: false }]
  ) {
    assert.deepEqual(warningsOf(set("$.data.b"), schema), []);
  }
});

Deno.test("a deploy warns of texts that look like paths, wherever they stand for a value", () => {
  const handler: JsonValue = [
    { set: { target: "data.customer", value: { by: ["data.customer", "metadata.actor.id"] } } },
    { if: { eq: ["state.status", "placed"] }, then: [{ increment: { target: "n" } }] },
    { remove: { target: "lines", where: { sku: "data.lines[0].sku" } } },
  ];
  assert.deepEqual(warningsOf(handler).map(([rule, path]) => [rule, path]), [
    ["text_like_path", "[0].set.value.by[0]"],
    ["text_like_path", "[0].set.value.by[1]"],
    ["text_like_path", "[1].if.eq[0]"],
    ["text_like_path", "[2].remove.where.sku"],
  ]);
  assert.match(warningsOf(handler)[0]![2]!, /^Write "\$\.data\.customer" for the value; /);
  assert.match(warningsOf(handler)[2]![2]!, /^Write "@\.status" for the value; /);
});

Deno.test("a deploy says nothing of texts that are targets, names, literals or ordinary words", () => {
  const handler: JsonValue = [
    { set: { target: "data.customer", value: { $literal: "data.customer" } } },
    { upsert: { target: "lines", key: "data.sku", value: { sku: "$.data.customer.name" } } },
    { set: { target: "text", value: "data. See below" } },
    { set: { target: "text", value: "data" } },
    { set: { target: "text", value: "order.placed" } },
  ];
  assert.deepEqual(warningsOf(handler), []);
});

Deno.test("a spec that is stored already is not searched for what would only be warned of", () => {
  const spec = specWith(set("data.customer"), CLOSED);
  const compiled = runAtOnce(compileSpecSteps(spec, "store"));
  assert(compiled.ok);
  assert.deepEqual(compiled.warnings, []);
});

Deno.test("guards get the same warnings, in their predicates and in the ids of others", () => {
  const spec = specWith([], CLOSED);
  const { order } = spec.aggregate_types;
  const guarded = {
    ...order.events.was_placed,
    guards: [{
      require: { eq: ["$.data.custmer", "data.customer"] },
      message: "data.customer",
      with: { other: { type: "order", id: "$.data.custmer" } },
    }],
  };
  const compiled = compileSpec({
    ...spec,
    aggregate_types: { order: { events: { was_placed: guarded } } },
  });
  assert(compiled.ok, JSON.stringify(compiled));
  const path = "aggregate_types.order.events.was_placed.guards[0]";
  assert.deepEqual(compiled.warnings.map(({ rule, path }) => `${rule} ${path}`), [
    `text_like_path ${path}.require.eq[1]`,
    `path_beyond_schema ${path}.require.eq[0]`,
    `path_beyond_schema ${path}.with.other.id`,
  ]);
});

Deno.test("warnOfPaths() reads a schema once for all paths through it, and pauses at each part", () => {
  const allOf = Array.from({ length: 240 }, () => ({ minProperties: 0 }));
  const p = { additionalProperties: false, properties: { q: true }, allOf };
  const node = [...Array(100).fill("$.data.p.q"), "$.data.p.z"];
  const warnings = createFaultList();
  const steps = warnOfPaths([{ node, path: "h" }], { properties: { p } }, warnings);
  const { pauses } = lookedUp(steps);
  assert.deepEqual(warnings.faults.map(({ path }) => path), ["h[100]"]);
  assert.ok(pauses > 3 * allOf.length && pauses < 12 * allOf.length, `${pauses} pauses`);
});
