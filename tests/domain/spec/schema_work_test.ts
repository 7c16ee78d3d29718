/**
 * Schemas and data built to be slow: checking an event stays within its budget and its time.
 * The time must stay within what the charged units stand for.
 */

import assert from "node:assert/strict";
import fc from "fast-check";
import { newBudget } from "../../../src/domain/budget.ts";
import type { JsonObject, JsonValue } from "../../../src/domain/json.ts";
import { limits } from "../../../src/domain/limits.ts";
import { compileSpec } from "../../../src/domain/spec/compile.ts";
import { checkCompatibility } from "../../../src/domain/spec/compatibility.ts";
import { openCompiler } from "../../support/compile_schema.ts";

/** Far more than any event takes on a busy machine; unbounded work takes longer. */
const EVENT_MS_MAX = 2_000;

const leaf: fc.Arbitrary<JsonValue> = fc.constantFrom<JsonValue>(
  { type: "string" },
  { type: "integer", multipleOf: 0.07 },
  { pattern: "(a|b)*a(a|b){40}c" },
  { pattern: "^(\\p{L}|\\d){1,300}$" },
  { format: "uri" },
  { format: "url" },
  { format: "regex" },
  { format: "email" },
  { format: "idn-hostname" },
  { format: "iri" },
  { uniqueItems: true },
  { enum: [{ a: [1, 2] }, [{ b: 1 }], "x"] },
  { minLength: 3, maxLength: 100_000 },
  { required: ["zz", "a"] },
  { dependentRequired: { a: ["b", "c"], b: ["d"] } },
  { minProperties: 2 },
);

const { node: hostile } = fc.letrec<{ node: JsonValue }>((tie) => {
  const some = fc.array(tie("node"), { minLength: 1, maxLength: 6 });
  const one = tie("node");
  return {
    node: fc.oneof(
      { depthSize: "medium", withCrossShrink: true },
      leaf,
      fc.constant<JsonValue>({ properties: { a: { $ref: "#/$defs/again" } } }),
      fc.constant<JsonValue>({ items: { $ref: "#/$defs/again" } }),
      fc.constant<JsonValue>({ $ref: "#/$defs/shared" }),
      some.map((anyOf): JsonValue => ({ anyOf })),
      some.map((oneOf): JsonValue => ({ oneOf })),
      some.map((allOf): JsonValue => ({ allOf, unevaluatedProperties: false })),
      one.map((items): JsonValue => ({ items })),
      one.map((contains): JsonValue => ({ contains, minContains: 2 })),
      one.map((contains): JsonValue => ({ contains, unevaluatedItems: contains })),
      one.map((again): JsonValue => ({ $id: "again", $dynamicAnchor: "x", allOf: [again] })),
      fc.constant<JsonValue>({ prefixItems: [{ $dynamicRef: "#x" }] }),
      one.map((additionalProperties): JsonValue => ({ additionalProperties })),
      one.map((schema): JsonValue => ({ patternProperties: { "^a": schema, "b$": schema } })),
      one.map((propertyNames): JsonValue => ({ propertyNames })),
      one.map((not): JsonValue => ({ not })),
      fc.tuple(one, one).map(([when, then]): JsonValue => ({ if: when, then, else: then })),
    ),
  };
});

const schemas = fc.tuple(hostile, hostile, hostile).map(([root, shared, again]): JsonObject => ({
  properties: { a: root, b: { items: root }, c: { additionalProperties: root } },
  $defs: { shared, again },
}));

const TEXTS = [
  "ab".repeat(20_000),
  "http://a.bc/" + ":".repeat(2_030),
  "[\\p{L}\\p{M}]".repeat(150),
  ("\u30fb".repeat(50) + ".").repeat(9) + "\u30a1",
];

function deep(depth: number): JsonObject {
  let value: JsonObject = { a: 1 };
  for (let level = 0; level < depth; level++) value = { a: value };
  return value;
}

const DATA: readonly JsonObject[] = [
  { a: TEXTS[0]!, b: TEXTS },
  { a: deep(40), b: [deep(20), deep(30)] },
  { b: Array.from({ length: 15_000 }, (_, index) => index / 10) },
  { b: Array.from({ length: 4_000 }, (_, index) => ({ a: index, b: "x" })) },
  { a: Object.fromEntries(Array.from({ length: 6_000 }, (_, index) => [`a${index}b`, index])) },
  { c: { ["~/".repeat(20_000)]: { a: 1 }, ["a".repeat(40_000)]: [1] } },
];

Deno.test("no schema and no data make checking an event cost more than an event may", () => {
  fc.assert(
    fc.property(schemas, fc.nat(DATA.length - 1), (schema, index) => {
      const validate = openCompiler().compile(schema);
      // Endless loops and the like are refused at deploy.
      if (validate === undefined) return;
      validate({});
      const work = newBudget(Number.MAX_SAFE_INTEGER);
      const startedMs = performance.now();
      const faults = validate(DATA[index]!, work);
      const tookMs = performance.now() - startedMs;
      const units = Number.MAX_SAFE_INTEGER - work.left;
      // Excessive work is charged before it is done.
      const isGivenUp = faults[0]?.message.startsWith("takes too much work");
      assert(units <= limits.validationUnitsMax || isGivenUp, `${units} units`);
      assert(tookMs < EVENT_MS_MAX, `${tookMs} ms for ${units} units`);
      assert(faults.length <= limits.schemaDetailsMax);
    }),
    { numRuns: 60 },
  );
});

Deno.test("comparing any two schemas ends, and says so where it gives up", () => {
  const specOf = (schema: JsonObject): JsonObject => ({
    agent_types: ["user"],
    aggregate_types: { order: { events: { was_placed: { schema, handler: [] } } } },
  });
  fc.assert(
    fc.property(schemas, schemas, (before, after) => {
      if (!compileSpec(specOf(before)).ok || !compileSpec(specOf(after)).ok) return;
      const startedMs = performance.now();
      const violations = checkCompatibility(specOf(before), specOf(after));
      assert(performance.now() - startedMs < EVENT_MS_MAX);
      assert(violations.every(({ rule }) => rule !== ""));
      assert.deepEqual(checkCompatibility(specOf(before), specOf(before)), []);
    }),
    { numRuns: 60 },
  );
});
