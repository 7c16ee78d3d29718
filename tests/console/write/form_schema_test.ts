/** Which input a schema gets, and what the form leaves to JSON. */

import assert from "node:assert/strict";
import { shapeOf } from "../../../console/src/write/form_schema.ts";

const ROOT = {
  parts: {
    "a/b": { type: "integer", minimum: 1 },
    loop: { $ref: "#/parts/loop" },
    tree: { type: "object", properties: { left: { $ref: "#/parts/tree" } } },
  },
};

function kindOf(schema: unknown): string {
  return shapeOf(ROOT, schema, 1).kind;
}

Deno.test("Each kind of schema has its input", () => {
  assert.equal(kindOf({ type: "string" }), "text");
  assert.equal(kindOf({ type: "integer" }), "number");
  assert.equal(kindOf({ type: "boolean" }), "boolean");
  assert.equal(kindOf({ enum: ["a", 1, null] }), "choice");
  assert.equal(kindOf({ const: "a" }), "choice");
  assert.equal(kindOf({ type: "array", items: { type: "string" } }), "list");
  assert.equal(kindOf({ type: "object", properties: { a: true } }), "object");
  assert.equal(kindOf({ $ref: "#/parts/a~1b" }), "number");
});

Deno.test("What no input can express is written as JSON", () => {
  for (
    const schema of [
      true,
      {},
      { type: "object", additionalProperties: { type: "number" } },
      { type: ["string", "number"] },
      { anyOf: [{ type: "string" }, { type: "number" }] },
      { type: "array", prefixItems: [{ type: "string" }] },
      { $ref: "#/parts/none" },
      { $ref: "#/parts/loop" },
      { $ref: "https://example.com/schema" },
      { enum: Array.from({ length: 101 }, (_, at) => at) },
      { type: "object", properties: JSON.parse(`{${manyMembers(101)}}`) },
    ]
  ) {
    assert.equal(kindOf(schema), "json", JSON.stringify(schema).slice(0, 80));
  }
  assert.equal(shapeOf(ROOT, { type: "string" }, 7).kind, "json");
});

function manyMembers(count: number): string {
  return Array.from({ length: count }, (_, at) => `"m${at}":true`).join(",");
}

Deno.test("A value that may be null keeps its input and its description", () => {
  const nullable = shapeOf(ROOT, { type: ["number", "null"], description: "In euros" }, 1);
  assert.deepEqual(nullable, {
    kind: "number",
    isNullable: true,
    description: "In euros",
    rules: "",
  });
  const either = {
    description: "How many",
    oneOf: [{ $ref: "#/parts/a~1b" }, { type: "null" }],
  };
  assert.deepEqual(shapeOf(ROOT, either, 1), {
    kind: "number",
    isNullable: true,
    description: "How many",
    rules: "a whole number, at least 1",
  });
});

Deno.test("Fields come in their order, also those with the names of prototypes", () => {
  const properties = JSON.parse('{"__proto__":{"type":"string"},"b":{"type":"number"}}');
  const shape = shapeOf(ROOT, { type: "object", properties, required: ["b"] }, 1);
  assert.ok(shape.kind === "object");
  assert.deepEqual(
    shape.fields.map(({ name, isRequired }) => [name, isRequired]),
    [["__proto__", false], ["b", true]],
  );
});

Deno.test("A schema that contains itself is followed one level at a time", () => {
  const shape = shapeOf(ROOT, { $ref: "#/parts/tree" }, 0);
  assert.ok(shape.kind === "object");
  assert.deepEqual(shape.fields[0]!.schema, { $ref: "#/parts/tree" });
});
