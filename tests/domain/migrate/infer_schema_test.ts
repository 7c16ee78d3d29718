/** Schemas from values, judged by another implementation of JSON Schema. */

import assert from "node:assert/strict";
import { Validator } from "@cfworker/json-schema";
import fc from "fast-check";
import type { JsonObject, JsonValue } from "../../../src/domain/json.ts";
import { inferSchema } from "../../../src/domain/migrate/infer_schema.ts";

function inferred(values: readonly JsonValue[], places = 1_000): JsonObject {
  const inference = inferSchema({ places });
  for (const value of values) inference.add(value);
  return inference.schema();
}

Deno.test("inferSchema() says which types and keys there were, and which were always there", () => {
  const schema = inferred([
    { id: 1, name: "a", tags: ["x"], at: null },
    { id: 2, name: "b", price: 1.5, tags: [] },
    { id: 3, name: null, price: 2, tags: ["y", 7] },
  ]);
  assert.deepEqual(schema, {
    type: "object",
    properties: {
      id: { type: "integer" },
      name: { type: ["null", "string"] },
      tags: { type: "array", items: { type: ["integer", "string"] } },
      at: { type: "null" },
      price: { type: "number" },
    },
    required: ["id", "name", "tags"],
  });
});

Deno.test("inferSchema() takes an object with very many keys for a table with values of one form", () => {
  const rows = Array.from(
    { length: 300 },
    (_, at) => [`key_${at}`, { n: at, ...(at % 2 && { m: "x" }) }],
  );
  assert.deepEqual(inferred([Object.fromEntries(rows)]), {
    type: "object",
    additionalProperties: {
      type: "object",
      properties: { n: { type: "integer" }, m: { type: "string" } },
      required: ["n"],
    },
  });
});

Deno.test("inferSchema() leaves open what it has no room for", () => {
  assert.deepEqual(inferred([{ a: { b: { c: 1 } }, d: [{ e: 1 }] }], 2), {
    type: "object",
    properties: {
      a: {
        type: "object",
        properties: { b: { type: "object", properties: { c: {} } } },
        required: ["b"],
      },
      d: {},
    },
    required: ["a"],
  });
});

const key = fc.oneof(fc.constantFrom("a", "b", "c", "__proto__"), fc.string());
const value = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom(null, true, false, 0, 1, -7, 1.5, "", "text"),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.array(tie("value"), { maxLength: 4 }),
    fc.dictionary(key, tie("value"), { maxKeys: 6 }) as fc.Arbitrary<JsonObject>,
  ),
})).value;

Deno.test("inferSchema() gives a schema under which all values are valid, with much room and with little", () => {
  const all = fc.array(value, { minLength: 1, maxLength: 8 });
  fc.assert(fc.property(all, fc.constantFrom(0, 1, 3, 10, 1_000), (values, places) => {
    // As a file has them: -0 is no number of JSON.
    const read = JSON.parse(JSON.stringify(values)) as JsonValue[];
    const validator = new Validator(inferred(read, places), "2020-12");
    for (const each of read) {
      const { valid, errors } = validator.validate(each);
      assert.ok(valid, JSON.stringify({ each, errors }));
    }
  }));
});

Deno.test("inferSchema() of tables of tables holds their values too", () => {
  const table = fc.dictionary(fc.string({ minLength: 2 }), value, { minKeys: 95, maxKeys: 130 });
  fc.assert(
    fc.property(fc.array(table, { minLength: 1, maxLength: 3 }), (values) => {
      const read = JSON.parse(JSON.stringify({ a: values })) as JsonObject;
      const { valid } = new Validator(inferred([read]), "2020-12").validate(read);
      assert.ok(valid);
    }),
    { numRuns: 50 },
  );
});
