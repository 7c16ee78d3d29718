/**
 * `embedSchema()`: a schema means the same inside a larger document as it does alone. The judge
 * of both is a validator that resolves references by its own reading of them.
 */

import assert from "node:assert/strict";
import { Ajv2020 } from "ajv/dist/2020.js";
import type { JsonObject, JsonValue } from "../../../../src/domain/json.ts";
import { embedSchema, type Naming } from "../../../../src/domain/spec/schema/embed.ts";

const NAME = "order.was_placed";
const PLACE = "#/components/schemas/";

type Judge = (value: unknown) => boolean;

function alone(schema: JsonValue): Judge {
  return new Ajv2020({ strict: false }).compile(schema as JsonObject) as Judge;
}

function partsOf(schema: JsonValue): Record<string, JsonValue> {
  const taken = new Set([NAME]);
  function claim(wanted: string): string {
    const plain = wanted.replaceAll(/[^\w.]/g, "_");
    const name = taken.has(plain) ? `${plain}_${taken.size}` : plain;
    taken.add(name);
    return name;
  }
  const naming: Naming = { claim, refTo: (name) => PLACE + name };
  return Object.fromEntries([...embedSchema(schema, NAME, naming)].filter((part) => part != null));
}

function embedded(schema: JsonValue): Judge {
  const ajv = new Ajv2020({ strict: false });
  const schemas = partsOf(schema);
  ajv.addSchema({ $id: "http://localhost/document", components: { schemas } });
  return ajv.compile({ $ref: `http://localhost/document${PLACE}${NAME}` }) as Judge;
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
  const parts = partsOf(SCHEMAS["names of resources"]!);
  const text = JSON.stringify(parts);
  assert.ok(!/\$id|\$anchor|\$schema|\$defs/.test(text), text);
  assert.deepEqual(Object.keys(parts), [NAME, `${NAME}.s`, `${NAME}.n`]);
  assert.deepEqual(parts[`${NAME}.n`], {
    type: "array",
    items: { $ref: `${PLACE}${NAME}.s` },
  });
});

Deno.test("embedSchema() writes no schema that is no object, but where tools expect one", () => {
  const schema = {
    properties: { a: true, b: false },
    items: { items: false },
    additionalProperties: false,
    patternProperties: { "^x": { additionalProperties: true } },
    anyOf: [true],
  };
  assert.deepEqual(partsOf(schema)[NAME], {
    properties: { a: {}, b: { not: {} } },
    items: { items: { not: {} } },
    additionalProperties: false,
    patternProperties: { "^x": { additionalProperties: true } },
    anyOf: [{}],
  });
  assert.deepEqual(partsOf(true), { [NAME]: {} });
  assert.deepEqual(partsOf(false), { [NAME]: { not: {} } });
});

Deno.test("embedSchema() leaves a reference alone with what annotates it, and else in allOf", () => {
  const target = { $defs: { n: { type: "object" } } };
  const part = `${PLACE}${NAME}.n`;
  assert.deepEqual(partsOf({ ...target, $ref: "#/$defs/n", description: "a" })[NAME], {
    $ref: part,
    description: "a",
  });
  assert.deepEqual(partsOf({ ...target, $ref: "#/$defs/n", minProperties: 1 })[NAME], {
    minProperties: 1,
    allOf: [{ $ref: part }],
  });
});

Deno.test("embedSchema() makes of a list of values of several kinds a choice of each", () => {
  assert.deepEqual(partsOf({ enum: ["a", null] })[NAME], { enum: ["a", null] });
  const values = [1, "a", { b: [1] }];
  const anyOf = values.map((value) => ({ const: value }));
  assert.deepEqual(partsOf({ enum: values })[NAME], { anyOf });
  assert.deepEqual(partsOf({ enum: values, anyOf: [true] })[NAME], {
    anyOf: [{}],
    allOf: [{ anyOf }],
  });
});

Deno.test("embedSchema() leaves out definitions that nothing refers to", () => {
  const schema = { $defs: { n: { type: "object" } }, definitions: { m: true } };
  assert.deepEqual(partsOf(schema), { [NAME]: {} });
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
