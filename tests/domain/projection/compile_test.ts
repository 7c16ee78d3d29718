/** Which definitions of projections are refused, each fault with its rule and its path. */

import assert from "node:assert/strict";
import type { JsonObject } from "../../../src/domain/json.ts";
import { limits } from "../../../src/domain/limits.ts";
import { compileProjection } from "../../../src/domain/projection/compile.ts";
import { runAtOnce } from "../../../src/domain/fairness/pieces.ts";
import { basisSteps } from "../../../src/domain/projection/basis.ts";
import type { Violation } from "../../../src/domain/refusal.ts";
import { compileSpec } from "../../../src/domain/spec/compile.ts";
import type { CompiledSpec } from "../../../src/domain/spec/compiled.ts";
import { EMPTY_SPEC } from "../../../src/features/base/current_spec.ts";
import { countedList } from "../../support/counted_list.ts";
import { readGolden } from "../../support/golden_cases.ts";
import { shopSpec } from "../../support/projection_shop.ts";

interface FaultCase {
  readonly name: string;
  readonly document?: JsonObject;
  /** Replaces fields of the definition below. */
  readonly change?: JsonObject;
  readonly faults: readonly (readonly [rule: string, path: string])[];
}

const DEFINITION: JsonObject = {
  name: "orders_seen",
  for_each: "order",
  sources: { order: "$key" },
  select: { status: "$.order.status" },
};

function specOf(document: JsonObject): CompiledSpec {
  const compiled = compileSpec(document);
  assert.ok(compiled.ok);
  return compiled.spec;
}

const spec = specOf(shopSpec());

function faultsOf(document: JsonObject): (readonly [string, string])[] {
  const compiled = compileProjection(document, spec);
  return compiled.ok ? [] : compiled.violations.map(({ rule, path }) => [rule, path] as const);
}

for (const { name, document, change, faults } of readGolden<FaultCase>("projections/faults.json")) {
  Deno.test(`compileProjection() refuses: ${name}`, () => {
    assert.deepEqual(faultsOf(document ?? { ...DEFINITION, ...change }), faults);
  });
}

Deno.test("compileProjection() takes the definition that the refused ones are changes of", () => {
  assert.deepEqual(faultsOf(DEFINITION), []);
});

Deno.test("compileProjection() gives an object of templates the type json", () => {
  const select = { a: { name: "$.order.customer" }, b: "$.key", c: { type: "$.order.status" } };
  const compiled = compileProjection({ ...DEFINITION, select }, spec);
  assert.ok(compiled.ok);
  assert.deepEqual(compiled.projection.columns.map(({ name, type }) => [name, type]), [
    ["a", "json"],
    ["b", "any"],
    ["c", "json"],
  ]);
});

Deno.test("compileProjection() goes on with what is stored where paths of it never find anything", () => {
  const select = { a: "$.order[0]", b: { $count: "$.order" } };
  assert.deepEqual(faultsOf({ ...DEFINITION, select }).length, 2);
  assert.ok(compileProjection({ ...DEFINITION, select }, spec, "store").ok);
});

Deno.test("compileProjection() before the first spec says that one has to be deployed", () => {
  const compiled = compileProjection(DEFINITION, EMPTY_SPEC);
  assert.ok(!compiled.ok);
  assert.match(compiled.violations[0]!.message, /^Aggregate type 'order' not found in spec/);
  assert.match(compiled.violations[0]!.hint, /deploy one first/);
});

Deno.test("compileProjection() says of what a misspelt key is no key, and what is meant", () => {
  const compiled = compileProjection({ ...DEFINITION, titel: "Orders" }, spec);
  assert.ok(!compiled.ok);
  const [{ rule, path, message, hint }] = compiled.violations as [Violation];
  assert.deepEqual([rule, path], ["unknown_key", "titel"]);
  assert.equal(message, '"titel" is not a key of the projection.');
  assert.equal(hint, 'Did you mean "title"?');
});

Deno.test("compileProjection() takes as many sources and columns as the limits say, and no more", () => {
  const named = (count: number, value: string) =>
    Object.fromEntries(Array.from({ length: count }, (_, n) => [`n${n}`, value]));
  const { projectionSourcesMax: sources, projectionColumnsMax: columns } = limits;
  const select = { a: "$.key" };
  assert.deepEqual(faultsOf({ ...DEFINITION, sources: named(sources, "$key"), select }), []);
  assert.deepEqual(faultsOf({ ...DEFINITION, sources: named(sources + 1, "$key"), select }), [
    ["too_many", "sources"],
  ]);
  assert.deepEqual(faultsOf({ ...DEFINITION, select: named(columns, "$.key") }), []);
  assert.deepEqual(faultsOf({ ...DEFINITION, select: named(columns + 1, "$.key") }), [
    ["too_many", "select"],
  ]);
});

Deno.test("compileProjection() refuses what is too large or too deep as a whole, and alone", () => {
  const description = "x".repeat(limits.projectionBytesMax);
  assert.deepEqual(faultsOf({ ...DEFINITION, nothing: 1, description }), [["too_large", ""]]);
  let deep: JsonObject = {};
  for (let level = 0; level < limits.jsonDepthMax; level++) deep = { deep };
  assert.deepEqual(faultsOf({ ...DEFINITION, nothing: deep }), [["too_deep", ""]]);
});

Deno.test("basisSteps() of a definition with a lookup is another one than before lookups changed", () => {
  const lookup = { $lookup: "$.order.lines", where: { sku: "A" } };
  const [plain, looked] = ["$.order.status", lookup].map((a) => {
    const compiled = compileProjection({ ...DEFINITION, select: { a } }, spec);
    assert.ok(compiled.ok);
    return runAtOnce(basisSteps(compiled.projection, spec));
  });
  assert.notEqual(plain, looked);
});

Deno.test("basisSteps() changes with how a type of the projection folds, and with no other", () => {
  const basis = (document: JsonObject, of: JsonObject) => {
    const compiled = compileProjection(document, specOf(of));
    assert.ok(compiled.ok);
    return runAtOnce(basisSteps(compiled.projection, specOf(of)));
  };
  const customer = { type: "customer", id: "$.order.customer" };
  const joined = { ...DEFINITION, sources: { order: "$key", customer } };
  assert.equal(basis(DEFINITION, shopSpec()), basis(DEFINITION, shopSpec(true)));
  assert.notEqual(basis(joined, shopSpec()), basis(joined, shopSpec(true)));
  const more = { ...shopSpec(), singletons: ["main", "other"] };
  assert.notEqual(basis(joined, shopSpec()), basis(joined, more), "other ids name something");
});

Deno.test("the fault of an unknown type looks at some types of the spec only, however many it has", () => {
  let taken = 0;
  function* keys() {
    for (const at of Array(20_000).keys()) yield (taken++, `type_${at}`);
  }
  const aggregateTypes = { size: 20_000, has: () => false, keys };
  const compiled = compileProjection(DEFINITION, { ...spec, aggregateTypes } as never);
  assert.ok(!compiled.ok);
  assert.ok(taken < 1_500, `${taken} types`);
  assert.match(compiled.violations[0]!.hint, /^The spec has type_0, type_1, .*\.\.\.\.$/);
});

Deno.test("basisSteps() hashes many singletons in steps, once for all projections of a spec", () => {
  const names = Array.from({ length: 5_000 }, (_, n) => `singleton_${n}`);
  const compiled = compileProjection(DEFINITION, spec);
  assert.ok(compiled.ok);
  const run = (of: CompiledSpec) => {
    const steps = basisSteps(compiled.projection, of);
    let yields = 0;
    let step = steps.next();
    for (; !step.done; step = steps.next()) yields++;
    return { yields, basis: step.value };
  };
  const large = { ...spec, singletons: new Set(names) };
  const first = run(large);
  assert.equal(first.yields, names.length);
  assert.deepEqual(run(large), { yields: 0, basis: first.basis });
  const turned = run({ ...spec, singletons: new Set([...names].reverse()) });
  assert.equal(turned.basis, first.basis, "their order decides nothing");
  const other = run({ ...spec, singletons: new Set([...names.slice(1), "other"]) });
  assert.notEqual(other.basis, first.basis);
});

Deno.test("a definition of a million values is read no further than to the limit of its bytes", () => {
  const { list, reads } = countedList(0);
  assert.deepEqual(faultsOf({ ...DEFINITION, description: list }), [["too_large", ""]]);
  assert.ok(reads() <= limits.projectionBytesMax, `${reads()} reads`);
});
