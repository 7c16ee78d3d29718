/** Samples of schemas: every sample is valid, and there is none where validity is uncertain. */

import assert from "node:assert/strict";
import fc from "fast-check";
import type { JsonObject, JsonValue } from "../../../../src/domain/json.ts";
import { FORMAT_NAMES } from "../../../../src/domain/spec/schema/formats/formats.ts";
import { sampleObject } from "../../../../src/domain/spec/schema/sample.ts";
import { openCompiler } from "../../../support/compile_schema.ts";

const SAMPLES: readonly [what: string, schema: JsonValue, sample: JsonObject | undefined][] = [
  ["anything", true, {}],
  ["nothing", false, undefined],
  ["a type that no event has", { type: "string" }, undefined],
  ["texts and numbers", {
    properties: { a: { type: "string" }, b: { type: "integer", minimum: 5 } },
  }, { a: "text", b: 5 }],
  ["a list", { properties: { a: { type: "array", items: { type: "boolean" } } } }, { a: [true] }],
  ["a definition", {
    properties: { a: { $ref: "#/$defs/b" } },
    $defs: { b: { type: "string", format: "email" } },
  }, { a: "jane@example.com" }],
  ["what may be null", {
    properties: { a: { anyOf: [{ type: "string", pattern: "^b" }, { type: "null" }] } },
  }, { a: null }],
  ["an optional pattern", { properties: { a: { pattern: "^b" }, b: { const: 1 } } }, { b: 1 }],
  ["a required pattern", { properties: { a: { pattern: "^b" } }, required: ["a"] }, undefined],
  ["a property that is nowhere described", { required: ["a"] }, undefined],
  ["forms of which one matches", { oneOf: [{ type: "object" }] }, undefined],
];

for (const [what, schema, sample] of SAMPLES) {
  Deno.test(`sampleObject() of ${what} is ${JSON.stringify(sample)}`, () => {
    assert.deepEqual(sampleObject(schema), sample);
  });
}

Deno.test("sampleObject() of a schema that refers to itself is bounded, however it branches", () => {
  const properties = Object.fromEntries(
    Array.from({ length: 40 }, (_, index) => [`a${index}`, { $ref: "#/$defs/node" }]),
  );
  const schema = { $ref: "#/$defs/node", $defs: { node: { type: "object", properties } } };
  const text = JSON.stringify(sampleObject(schema) ?? null);
  assert(text.length < 10_000, `${text.length}`);
});

const number = fc.constantFrom(-2, 0, 0.5, 1, 3, 10);
const count = fc.nat({ max: 4 });
const { schema } = fc.letrec<{ schema: JsonValue }>((tie) => {
  const inner = tie("schema");
  const record = <T>(model: T) => fc.record(model as never, { requiredKeys: [] });
  const byName = fc.dictionary(fc.constantFrom("a", "b", "c"), inner, { noNullPrototype: true });
  return {
    schema: fc.oneof(
      { maxDepth: 4 },
      fc.boolean(),
      record({
        type: fc.constantFrom("number", "integer"),
        minimum: number,
        maximum: number,
        exclusiveMinimum: number,
        exclusiveMaximum: number,
        multipleOf: fc.constantFrom(0.5, 2, 3),
        format: fc.constantFrom("int32", "double"),
      }),
      record({
        type: fc.constantFrom<JsonValue>("string", ["null", "string"], "boolean", "null"),
        minLength: count,
        maxLength: count,
        format: fc.constantFrom(...FORMAT_NAMES),
      }),
      record({
        enum: fc.constantFrom<JsonValue[]>([1, "a"], [null], [[1]]),
        type: fc.constant("string"),
      }),
      record({ items: inner, minItems: count, maxItems: count, uniqueItems: fc.boolean() }),
      record({ anyOf: fc.array(inner, { minLength: 1, maxLength: 2 }), minLength: count }),
      record({ not: inner, pattern: fc.constant("^a"), $ref: fc.constant("#/$defs/x") }),
      {
        weight: 5,
        arbitrary: record({
          type: fc.constantFrom<JsonValue>("object", ["object", "array"]),
          properties: byName,
          required: fc.subarray(["a", "b", "z"]),
          additionalProperties: inner,
          unevaluatedProperties: inner,
          $id: fc.constant("inner"),
        }),
      },
    ) as fc.Arbitrary<JsonValue>,
  };
});

Deno.test("sampleObject() shows nothing that its schema refuses", () => {
  let shown = 0;
  fc.assert(
    fc.property(schema, schema, (root, x) => {
      const whole = { properties: { a: root, b: { type: "string" } }, $defs: { x } } as JsonObject;
      const validate = openCompiler().compile(whole);
      const sample = validate && sampleObject(whole);
      if (validate === undefined || sample === undefined) return;
      shown += Object.keys(sample).length;
      const text = () => `${JSON.stringify(whole)} ${JSON.stringify(sample)}`;
      assert.deepEqual(validate(sample), [], text());
    }),
    { numRuns: 1_000 },
  );
  assert(shown > 200, `${shown}`);
});
