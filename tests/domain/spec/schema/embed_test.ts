/**
 * `embedSchema()`: a schema means the same inside a larger document as it does alone. The judge of
 * both is a validator that resolves references by its own reading of them.
 */

import assert from "node:assert/strict";
import { Ajv2020 } from "ajv/dist/2020.js";
import type { JsonObject, JsonValue } from "../../../../src/domain/json.ts";
import { embedSchema } from "../../../../src/domain/spec/schema/embed.ts";

const PLACE = "#/components/schemas/order.was_placed";

type Judge = (value: unknown) => boolean;

function alone(schema: JsonValue): Judge {
  return new Ajv2020({ strict: false }).compile(schema as JsonObject) as Judge;
}

function embedded(schema: JsonValue): Judge {
  const ajv = new Ajv2020({ strict: false });
  const schemas = { "order.was_placed": embedSchema(schema, PLACE) };
  ajv.addSchema({ $id: "http://localhost/document", components: { schemas } });
  return ajv.compile({ $ref: `http://localhost/document${PLACE}` }) as Judge;
}

const VALUES: readonly unknown[] = [
  {},
  { a: 1 },
  { a: "x" },
  { a: { a: { a: 1 } } },
  { a: { a: { a: "x" } } },
  { a: [1, "x"] },
  { a: ["x"], "b/c~d e%": 1 },
  { "b/c~d e%": "x" },
];

const SCHEMAS: Readonly<Record<string, JsonValue>> = {
  "true": true,
  "false": false,
  "a definition": { $defs: { n: { type: "number" } }, properties: { a: { $ref: "#/$defs/n" } } },
  "itself": {
    properties: { a: { anyOf: [{ $ref: "#" }, { type: "number" }] } },
    additionalProperties: false,
  },
  "an anchor": {
    $defs: { n: { $anchor: "number", type: "number" } },
    properties: { a: { items: { $ref: "#number" } } },
  },
  "names of resources": {
    $id: "https://example.com/root",
    $defs: {
      n: {
        $id: "inner",
        $defs: { s: { type: "string" } },
        type: "array",
        items: { $ref: "#/$defs/s" },
      },
    },
    properties: { a: { $ref: "inner" } },
  },
  "odd keys": {
    properties: { "b/c~d e%": { type: "number" }, a: { $ref: "#/properties/b~1c~0d%20e%25" } },
  },
  "a dynamic reference": {
    $dynamicAnchor: "node",
    properties: { a: { $dynamicRef: "#node" } },
    anyOf: [{ type: "object" }, { type: "number" }],
  },
  "what only looks like a reference": {
    properties: { a: { enum: [{ $ref: "#/$defs/n" }, 1] } },
    default: { $ref: "#/nowhere" },
  },
};

for (const [name, schema] of Object.entries(SCHEMAS)) {
  Deno.test(`embedSchema() keeps the meaning of a schema with ${name}`, () => {
    const [inside, outside] = [embedded(schema), alone(schema)];
    for (const value of VALUES) {
      assert.equal(inside(value), outside(value), JSON.stringify(value));
    }
  });
}

Deno.test("embedSchema() keeps both references of a schema that has two", () => {
  const judge = embedded({
    $defs: { n: { $dynamicAnchor: "n", type: "number" }, m: { minimum: 5 } },
    properties: { a: { $ref: "#/$defs/m", $dynamicRef: "#n", allOf: [{ maximum: 9 }] } },
  });
  assert.deepEqual([1, 7, 10, "x"].map((a) => judge({ a })), [false, true, false, false]);
});

Deno.test("embedSchema() leaves no name that could be taken twice in one document", () => {
  const text = JSON.stringify(embedSchema(SCHEMAS["names of resources"]!, PLACE));
  assert.ok(!/\$id|\$anchor|\$schema/.test(text), text);
  assert.ok(text.includes(`${PLACE}/$defs/n`.replaceAll("$", "%24")), text);
});

Deno.test("embedSchema() makes of a reference that may mean several schemas any of them", () => {
  const schema: JsonValue = {
    $ref: "#/$defs/list",
    anyOf: [true],
    $defs: {
      own: { $dynamicAnchor: "item", type: "string" },
      list: {
        $id: "list",
        items: { $dynamicRef: "#item", anyOf: [true] },
        $defs: { item: { $dynamicAnchor: "item", type: "number" } },
      },
    },
  };
  const judge = embedded(schema);
  for (const value of [["a"], [1], [1, "a"]]) assert(judge(value), JSON.stringify(value));
  assert(!judge([null]));
});
