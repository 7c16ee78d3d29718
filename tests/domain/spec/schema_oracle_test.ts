/**
 * Event schemas mean what Draft 2020-12 says. Cases written from the specification and
 * generated ones are also put to an implementation that shares no code with ours.
 */

import assert from "node:assert/strict";
import { type Schema, Validator } from "@cfworker/json-schema";
import fc from "fast-check";
import type { JsonObject, JsonValue } from "../../../src/domain/json.ts";
import { openCompiler } from "../../support/compile_schema.ts";
import { createFaultList } from "../../../src/domain/spec/fault_list.ts";

interface SchemaCase {
  readonly name: string;
  readonly schema: JsonValue;
  readonly valid: readonly JsonValue[];
  readonly invalid: readonly JsonValue[];
}

const VOCABULARIES = ["core", "applicator", "unevaluated", "validation", "format"];

function readCases(vocabulary: string): SchemaCase[] {
  const file = new URL(`../../golden/spec/schemas/${vocabulary}.json`, import.meta.url);
  return JSON.parse(Deno.readTextFileSync(file));
}

type Verdict = (value: JsonValue) => boolean;

/**
 * Our verdict on any value: although the data of an event is an object, the validator itself
 * requires no type.
 */
function ours(schema: JsonValue): Verdict {
  const faults = createFaultList();
  const validate = openCompiler().compile(schema, "schema", faults);
  assert(validate, JSON.stringify(faults.faults));
  return (value) => validate(value as JsonObject).length === 0;
}

/** Passes a copy, because the oracle writes into the schemas it is given. */
function oracle(schema: JsonValue): Verdict {
  const validator = new Validator(structuredClone(schema) as Schema, "2020-12", false);
  return (value) => validator.validate(value).valid;
}

for (const vocabulary of VOCABULARIES) {
  for (const { name, schema, valid, invalid } of readCases(vocabulary)) {
    Deno.test(`event schemas, ${vocabulary} vocabulary: ${name}`, () => {
      const judges: [string, Verdict][] = [["ours", ours(schema)], ["oracle", oracle(schema)]];
      for (const [judge, verdict] of judges) {
        for (const value of valid) assert(verdict(value), `${judge}: ${JSON.stringify(value)}`);
        for (const value of invalid) assert(!verdict(value), `${judge}: ${JSON.stringify(value)}`);
      }
    });
  }
}

const RUNS = Number(Deno.env.get("ORACLE_RUNS") ?? 1_000);
const KEYS = ["a", "b", "c", "constructor"];
const TEXTS = ["", "a", "ab", "b1", "\u{1f600}", "2024-02-29"];
const NUMBERS = [-1, 0, 1, 1.5, 2, 3, 10];

const key = fc.constantFrom(...KEYS);
const scalar = fc.constantFrom<JsonValue>(null, true, false, ...NUMBERS, ...TEXTS);
const bound = fc.nat({ max: 3 });
const names = fc.uniqueArray(key, { maxLength: 2 });

/** Mostly objects, because most keywords concern them. */
const { value } = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, depthSize: "small" },
    scalar,
    {
      weight: 3,
      arbitrary: fc.dictionary(key, tie("value"), { maxKeys: 3, noNullPrototype: true }),
    },
    { weight: 2, arbitrary: fc.array(tie("value"), { maxLength: 4 }) },
  ),
}));

/** Keywords that hold no schema. */
const ASSERTIONS: Record<string, fc.Arbitrary<JsonValue>> = {
  type: fc.oneof(
    fc.constantFrom<JsonValue>("object", "array", "string", "number", "integer", "boolean", "null"),
    fc.constant<JsonValue>(["object", "array"]),
    fc.constant<JsonValue>(["integer", "string", "null"]),
  ),
  enum: fc.array(value, { minLength: 1, maxLength: 4 }),
  const: value,
  multipleOf: fc.constantFrom(0.5, 1, 2, 3),
  maximum: fc.constantFrom(...NUMBERS),
  exclusiveMaximum: fc.constantFrom(...NUMBERS),
  minimum: fc.constantFrom(...NUMBERS),
  exclusiveMinimum: fc.constantFrom(...NUMBERS),
  maxLength: bound,
  minLength: bound,
  pattern: fc.constantFrom("^a", "b", "\\d", "^.$"),
  format: fc.constantFrom("date", "ipv4", "uuid"),
  maxItems: bound,
  minItems: bound,
  uniqueItems: fc.boolean(),
  maxProperties: bound,
  minProperties: bound,
  required: names,
  dependentRequired: fc.dictionary(key, names, { maxKeys: 2, noNullPrototype: true }),
};

function schemaArbitrary(): fc.Arbitrary<JsonValue> {
  return fc.letrec<{ schema: JsonValue }>((tie) => {
    const schema = tie("schema");
    const list = fc.array(schema, { minLength: 1, maxLength: 3 });
    const byName = fc.dictionary(key, schema, { maxKeys: 3, noNullPrototype: true });
    const byPattern = fc.dictionary(fc.constantFrom("^a", "b", "^.$"), schema, {
      maxKeys: 2,
      noNullPrototype: true,
    });
    const reference = fc.constantFrom({ $ref: "#/$defs/x" }, { $ref: "#/$defs/y" });
    const one = (keyword: string, value: fc.Arbitrary<JsonValue>) =>
      value.map((held): JsonObject => ({ [keyword]: held }));
    const assertion = fc.oneof(
      ...Object.entries(ASSERTIONS).map(([keyword, value]) => one(keyword, value)),
    );
    const applicator = fc.oneof(
      { weight: 5, arbitrary: one("properties", byName) },
      ...["allOf", "anyOf", "oneOf", "prefixItems"].map((keyword) => one(keyword, list)),
      ...["not", "items", "additionalProperties", "propertyNames"].map((k) => one(k, schema)),
      one("patternProperties", byPattern),
      one("dependentSchemas", byName),
      fc.record({ if: schema, then: schema, else: schema }, { requiredKeys: ["if"] }),
      fc.record({ contains: schema, minContains: bound, maxContains: bound }, {
        requiredKeys: ["contains"],
      }),
    ) as fc.Arbitrary<JsonObject>;
    const parts = fc.array(
      fc.oneof(assertion, { weight: 2, arbitrary: applicator }, reference),
      { maxLength: 4 },
    );
    return {
      schema: fc.oneof(
        { maxDepth: 4, depthSize: "small" },
        fc.boolean(),
        assertion,
        reference,
        { weight: 6, arbitrary: parts.map((some): JsonObject => Object.assign({}, ...some)) },
      ),
    };
  }).schema;
}

/**
 * Works around known faults of the oracle. It passes what one schema has evaluated down into
 * adjacent and inner schemas, where `unevaluatedProperties` and `unevaluatedItems` must not see
 * it. So these two are used only where a value is first looked at, above everything else that
 * looks at the same value.
 */
function closing(inner: fc.Arbitrary<JsonValue>, closed: fc.Arbitrary<JsonValue>) {
  return fc.record(
    {
      allOf: fc.tuple(inner) as fc.Arbitrary<JsonValue>,
      unevaluatedProperties: closed,
      unevaluatedItems: closed,
    },
    { requiredKeys: ["allOf"] },
  ) as fc.Arbitrary<JsonObject>;
}

const small = fc.oneof(fc.constant(false), fc.constant<JsonValue>({ type: "integer" }));

const schema = fc.record({
  root: closing(schemaArbitrary(), small),
  inner: fc.option(closing(schemaArbitrary(), small), { nil: undefined }),
  x: schemaArbitrary(),
  y: schemaArbitrary(),
}).map(({ root, inner, x, y }): JsonObject => ({
  ...root,
  ...(inner !== undefined && { properties: { a: inner } }),
  $defs: { x, y },
}));

Deno.test("event schemas: generated schemas and data are judged as the oracle judges them", () => {
  fc.assert(
    fc.property(schema, fc.array(value, { minLength: 6, maxLength: 12 }), (schema, values) => {
      const validate = openCompiler().compile(schema, "schema", createFaultList());
      // Skips endless references, and the few things that a deploy refuses.
      fc.pre(validate !== undefined);
      const verdict = oracle(schema);
      for (const value of values) {
        const faults = validate(value as JsonObject);
        const text = `${JSON.stringify(value)} ${JSON.stringify(faults)}`;
        assert.equal(faults.length === 0, verdict(value), text);
      }
    }),
    { numRuns: RUNS },
  );
});
