/** Schemas that are compiled into several functions mean the same as in one function. */

import assert from "node:assert/strict";
import type { JsonObject, JsonValue } from "../../../../src/domain/json.ts";
import { openCompiler } from "../../../support/compile_schema.ts";

function pathsOf(schema: JsonValue, data: JsonObject): string[] {
  const validate = openCompiler().compile(schema);
  assert(validate);
  return validate(data).map(({ path }) => path);
}

function wide(count: number, more: JsonObject = {}): JsonObject {
  const names = Array.from({ length: count }, (_, index) => [`p${index}`, { type: "string" }]);
  return { ...more, properties: Object.fromEntries(names) };
}

const ALL_RIGHT = Object.fromEntries(
  Array.from({ length: 450 }, (_, index) => [`p${index}`, "x"]),
);

Deno.test("a schema with hundreds of properties checks each of them", () => {
  assert.deepEqual(pathsOf(wide(450), ALL_RIGHT), []);
  assert.deepEqual(pathsOf(wide(450), { ...ALL_RIGHT, p3: 1, p449: 1 }), ["data.p3", "data.p449"]);
  assert.deepEqual(pathsOf(wide(450), { other: 1 }), []);
});

Deno.test("a schema with hundreds of properties knows which others are not allowed", () => {
  for (const keyword of ["additionalProperties", "unevaluatedProperties"]) {
    const schema = wide(450, { [keyword]: false });
    assert.deepEqual(pathsOf(schema, ALL_RIGHT), []);
    assert.deepEqual(pathsOf(schema, { ...ALL_RIGHT, other: 1 }), ["data.other"]);
  }
});

Deno.test("what a divided schema evaluates counts for the schema around it", () => {
  const schema = { allOf: [wide(450)], unevaluatedProperties: false };
  assert.deepEqual(pathsOf(schema, ALL_RIGHT), []);
  assert.deepEqual(pathsOf(schema, { ...ALL_RIGHT, other: 1 }), ["data.other"]);
});

Deno.test("a fault deep within long names has its whole path", () => {
  const name = "a_name_of_some_length";
  let schema: JsonObject = { required: ["last"], properties: { last: { type: "null" } } };
  let data: JsonObject = { last: 1 };
  for (let depth = 0; depth < 20; depth++) {
    schema = { properties: { [name]: schema } };
    data = { [name]: data };
  }
  assert.deepEqual(pathsOf(schema, data), [`data.${`${name}.`.repeat(20)}last`]);
});

Deno.test("a divided schema that leads back to itself is followed as deep as the data goes", () => {
  const node = wide(300, { required: ["p1"] });
  const schema = {
    $ref: "#/$defs/node",
    $defs: {
      node: {
        ...node,
        properties: { ...node.properties as JsonObject, next: { $ref: "#/$defs/node" } },
      },
    },
  };
  assert.deepEqual(pathsOf(schema, { p1: "x", next: { p1: "x", next: {} } }), [
    "data.next.next.p1",
  ]);
});

const MORE: readonly JsonObject[] = [{}, { unevaluatedProperties: false }];

Deno.test("a choice of hundreds of branches, and hundreds of patterns, mean what they meant", () => {
  const branches = Array.from({ length: 250 }, (_, index): JsonObject => ({
    properties: { kind: { const: index, minimum: 0, maximum: 1_000 }, [`b${index}`]: true },
    required: ["kind", `b${index}`],
  }));
  for (const keyword of ["anyOf", "oneOf"]) {
    for (const more of MORE) {
      const schema = { [keyword]: branches, ...more };
      assert.deepEqual(pathsOf(schema, { kind: 249, b249: 1 }), []);
      assert.notDeepEqual(pathsOf(schema, { kind: 249, b248: 1 }), []);
      const others = pathsOf(schema, { kind: 1, b1: 1, other: 1 });
      assert.deepEqual(others, "unevaluatedProperties" in more ? ["data.other"] : []);
    }
  }
  const patterns = Array.from(
    { length: 250 },
    (_, index) => [`^p${index}_`, { const: index }] as const,
  );
  const patternProperties = Object.fromEntries(patterns);
  for (const keyword of ["additionalProperties", "unevaluatedProperties"]) {
    const schema = { patternProperties, [keyword]: false };
    assert.deepEqual(pathsOf(schema, { p0_a: 0, p249_a: 249 }), []);
    assert.deepEqual(pathsOf(schema, { p0_a: 1 }), ["data.p0_a"]);
    assert.deepEqual(pathsOf(schema, { p249_a: 249, q: 1 }), ["data.q"]);
  }
  const all: JsonObject = {
    allOf: patterns.map(([, value], index) => ({ properties: { [`k${index}`]: value } })),
  };
  for (const more of MORE) {
    assert.deepEqual(pathsOf({ ...all, ...more }, { k0: 0, k249: 249 }), []);
    // A schema that does not hold has evaluated nothing: where that matters, it is a second
    // fault.
    const paths = pathsOf({ ...all, ...more }, { k0: 0, k249: 248 });
    assert.deepEqual([...new Set(paths)], ["data.k249"]);
  }
});
