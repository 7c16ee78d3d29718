/** Drafted schemas, judged by a validator that Daybook does not use for the console. */

import assert from "node:assert/strict";
import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { draftSchema } from "../../../console/src/workbench/draft_schema.ts";

Deno.test("draftSchema() names what all values have, and the types of each field", () => {
  const drafted = draftSchema([
    { customer: "Ada", total: 10, lines: [{ sku: "A", qty: 1 }] },
    { customer: "Bob", total: 12.5, note: null, lines: [] },
    { customer: "Cy", total: 3, note: "gift", lines: [{ sku: "B", qty: 2, gift: true }] },
  ]);
  assert.deepEqual(drafted, {
    type: "object",
    properties: {
      customer: { type: "string" },
      total: { type: "number" },
      lines: {
        type: "array",
        items: {
          type: "object",
          properties: {
            sku: { type: "string" },
            qty: { type: "integer" },
            gift: { type: "boolean" },
          },
          required: ["sku", "qty"],
          additionalProperties: false,
        },
      },
      note: { type: ["null", "string"] },
    },
    required: ["customer", "total", "lines"],
    additionalProperties: false,
  });
});

Deno.test("all values fit the schema that was drafted from them, whatever they are named", () => {
  const name = fc.constantFrom("a", "b", "constructor", "\u202e");
  const value = fc.letrec((tie) => ({
    any: fc.oneof(
      { depthSize: "small" },
      fc.integer(),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.string(),
      fc.constantFrom(null, true),
      fc.array(tie("any"), { maxLength: 3 }),
      fc.array(fc.tuple(name, tie("any")), { maxLength: 3 }).map((list) =>
        Object.fromEntries(list)
      ),
    ),
  })).any;
  fc.assert(
    fc.property(fc.array(value, { minLength: 1, maxLength: 6 }), (values) => {
      const fits = new Ajv2020({ strict: false, ownProperties: true }).compile(draftSchema(values));
      for (const each of values) assert.ok(fits(each), JSON.stringify(fits.errors));
    }),
    { numRuns: 60 },
  );
});

Deno.test("what has too many names, or is too deep, is described by its type alone", () => {
  const wide = Object.fromEntries(Array.from({ length: 61 }, (_, at) => [`key_${at}`, at]));
  assert.deepEqual(draftSchema([wide]), { type: "object" });
  let deep: unknown = "end";
  for (let level = 0; level < 5_000; level++) deep = { deep };
  assert.ok(JSON.stringify(draftSchema([deep])).length < 2_000);
});

Deno.test("a member named __proto__ is a property like any other", () => {
  const { properties } = draftSchema([JSON.parse('{"__proto__": {"a": 1}}')]) as {
    properties: object;
  };
  assert.deepEqual(Object.entries(properties).map(([name]) => name), ["__proto__"]);
});
