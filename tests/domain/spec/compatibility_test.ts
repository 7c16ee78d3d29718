/**
 * The blocked changes between versions, and the lines that describe a redeploy. See
 * docs/reference/specs.md.
 */

import assert from "node:assert/strict";
import { newBudget } from "../../../src/domain/budget.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../src/domain/json.ts";
import { runAtOnce } from "../../../src/domain/fairness/pieces.ts";
import { limits } from "../../../src/domain/limits.ts";
import {
  changesSteps,
  checkCompatibility,
  compatibilitySteps,
  describeChanges,
} from "../../../src/domain/spec/compatibility.ts";
import { compileSpec } from "../../../src/domain/spec/compile.ts";
import { findReferences } from "../../../src/domain/spec/schema/references.ts";
import { viewSchema, wholeSchema } from "../../../src/domain/spec/schema/view.ts";
import { countedList } from "../../support/counted_list.ts";
import { lookedUp } from "../../support/looked_up.ts";
import { copyOfExampleSpec, exampleSpec } from "../../support/example_spec.ts";

interface SchemaCase {
  readonly name: string;
  readonly before: JsonValue;
  readonly after: JsonValue;
  /** `<rule> <path below the schema>`. */
  readonly blocked: readonly string[];
}

const cases: SchemaCase[] = JSON.parse(
  Deno.readTextFileSync(new URL("../../golden/spec/compatibility.json", import.meta.url)),
);

function specWith(schema: JsonValue): JsonObject {
  return {
    aggregate_types: { order: { events: { was_placed: { schema, handler: [] } } } },
    agent_types: ["user"],
  };
}

for (const { name, before, after, blocked } of cases) {
  const verb = blocked.length === 0 ? "allows" : "blocks";
  Deno.test(`checkCompatibility() ${verb} ${name}`, () => {
    assert(compileSpec(specWith(before)).ok, "before must be a valid spec");
    assert(compileSpec(specWith(after)).ok, "after must be a valid spec");
    const violations = checkCompatibility(specWith(before), specWith(after));
    const prefix = "aggregate_types.order.events.was_placed.schema";
    const found = violations.map(({ rule, path }) => `${rule} ${path.slice(prefix.length)}`);
    assert.deepEqual(found, blocked);
    assert(violations.every(({ message, hint }) => message !== "" && hint !== ""));
  });
}

function events(spec: JsonObject, type: string): JsonObject {
  const types = spec.aggregate_types;
  assert(isJsonObject(types) && isJsonObject(types[type]) && isJsonObject(types[type].events));
  return types[type].events;
}

Deno.test("checkCompatibility() accepts a spec after itself", () => {
  assert.deepEqual(checkCompatibility(exampleSpec, copyOfExampleSpec()), []);
});

Deno.test("checkCompatibility() blocks removing an aggregate type", () => {
  const after = copyOfExampleSpec();
  delete (after.aggregate_types as JsonObject).customer;
  const [violation] = checkCompatibility(exampleSpec, after);
  assert.equal(violation?.rule, "aggregate_type_removed");
  assert.equal(violation?.path, "aggregate_types.customer");
});

Deno.test("checkCompatibility() blocks removing an event type", () => {
  const after = copyOfExampleSpec();
  delete events(after, "order").was_paid;
  const [violation] = checkCompatibility(exampleSpec, after);
  assert.equal(violation?.rule, "event_type_removed");
  assert.equal(violation?.path, "aggregate_types.order.events.was_paid");
});

Deno.test("checkCompatibility() allows new aggregate types, new event types and changed handlers", () => {
  const after = copyOfExampleSpec();
  (after.aggregate_types as JsonObject).invoice = { events: {} };
  events(after, "order").was_shipped = { schema: true, handler: [] };
  (events(after, "order").was_placed as JsonObject).handler = [];
  delete events(after, "order")._was_tombstoned;
  assert.deepEqual(checkCompatibility(exampleSpec, after), []);
});

Deno.test("checkCompatibility() ends on choices nested in choices, within its bound of pairs", () => {
  let before: JsonValue = { type: "string" };
  let after: JsonValue = { type: "integer" };
  for (let depth = 0; depth < 10; depth++) {
    const wrap = (schema: JsonValue) => ({ properties: { a: schema } });
    before = { anyOf: [1, 2, 3, 4].map(() => wrap(before)) };
    after = { anyOf: [1, 2, 3, 4].map(() => wrap(after)) };
    if (depth > 3) [before, after] = [wrap(before), wrap(after)];
    if (JSON.stringify(before).length > 50_000) break;
  }
  assert(checkCompatibility(specWith(before), specWith(after)).length > 0);
});

Deno.test("checkCompatibility() compares a hundred forms that refer to one large schema", () => {
  const names = Array.from({ length: 2_000 }, (_, index) => [`p${index}`, { type: "number" }]);
  const forms = (title: string, type = "number") =>
    specWith({
      anyOf: Array.from(
        { length: 100 },
        (_, index) => ({ $ref: "#/$defs/d", title: title + index }),
      ),
      $defs: { d: { properties: { ...Object.fromEntries(names), p7: { type } } } },
    });
  assert.deepEqual(checkCompatibility(forms("a"), forms("b")), []);
  const [violation] = checkCompatibility(forms("a"), forms("a", "string"));
  assert.equal(violation?.rule, "type_changed");
});

const FORMS = Array.from({ length: 65 }, (_, form) => form);

/** Forms that differ only in the last of their properties. */
function specOfForms(title: string, order: readonly number[]): JsonObject {
  const names = FORMS.map((index): [string, JsonValue] => [`p${index}`, { type: "number" }]);
  const anyOf = order.map((form) => ({
    title,
    properties: { ...Object.fromEntries(names), last: { required: [`k${form}`] } },
  }));
  return specWith({ anyOf });
}

Deno.test("checkCompatibility() compares many large forms that stay where they stood", () => {
  assert.deepEqual(checkCompatibility(specOfForms("a", FORMS), specOfForms("b", FORMS)), []);
});

Deno.test("checkCompatibility() gives up on many large forms in another order", () => {
  const turned = specOfForms("b", FORMS.toReversed());
  const violations = checkCompatibility(specOfForms("a", FORMS), turned);
  assert.deepEqual(violations.map(({ rule }) => rule), ["not_comparable"]);
});

Deno.test("checkCompatibility() reads the types of a schema once, whatever leads to it", () => {
  const refs = (name: string) => Array.from({ length: 250 }, () => ({ $ref: `#/$defs/${name}` }));
  const spec = (title: string) =>
    specWith({
      title,
      properties: { v: { anyOf: refs("x") } },
      $defs: { x: { anyOf: refs("e") }, e: { enum: [1, 2, 3] } },
    });
  assert.deepEqual(checkCompatibility(spec("a"), spec("b")), []);
});

Deno.test("viewSchema() is charged for each name that another property requires", () => {
  const names = Array.from({ length: 1_000 }, (_, index) => `n${index}`);
  const references = findReferences({ dependentRequired: { a: names } });
  const budget = newBudget(1_000_000);
  const view = runAtOnce(viewSchema(wholeSchema(references), { budget, views: new Map() }));
  assert.equal(view.dependents.get("a")?.size, names.length);
  assert(1_000_000 - budget.left > 10 * names.length, `${budget.left} units left`);
});

/** A choice of forms that all lead to one schema, each by the same references one after another. */
function specOfDetours(type: string, forms: number): JsonObject {
  const chain = Array.from({ length: 90 }, (_, index) => [
    `${"n".repeat(500)}${index}`,
    index === 89 ? { type } : { $ref: `#/$defs/${"n".repeat(500)}${index + 1}` },
  ]);
  const anyOf = Array.from({ length: forms }, () => ({ $ref: `#/$defs/${chain[0]![0]}` }));
  const p = { type: ["string", "integer"], anyOf };
  return specWith({ $defs: Object.fromEntries(chain), properties: { p } });
}

Deno.test("compatibilitySteps() pauses at each pair of forms, and follows each detour once", () => {
  const specs = [specOfDetours("string", 40), specOfDetours("integer", 40)] as const;
  const { value, total, longest, pauses } = lookedUp(compatibilitySteps(...specs));
  assert.deepEqual(new Set(value.map(({ rule }) => rule)), new Set(["type_changed"]));
  assert.equal(value.length, 40);
  assert.ok(pauses > 40 * 40, `${pauses} pauses`);
  assert.ok(total < 1_000_000, `${total} characters`);
  assert.ok(longest < 100_000, `${longest} characters in one step`);
});

Deno.test("compatibilitySteps() compares no further forms when it has all faults it may tell", () => {
  const pausesOf = (forms: number) => {
    const specs = [specOfDetours("string", forms), specOfDetours("integer", forms)] as const;
    const { value, pauses } = lookedUp(compatibilitySteps(...specs));
    assert.equal(value.length, limits.violationsMax);
    return pauses / forms;
  };
  const few = pausesOf(limits.violationsMax);
  const many = pausesOf(2 * limits.violationsMax);
  assert.ok(many < 1.5 * few, `${few} and ${many} pauses for each form`);
});

Deno.test("compatibilitySteps() pauses at each property, however many one schema has", () => {
  const names = Array.from({ length: 3_000 }, (_, index) => `p${index}`);
  const schema = (title: string) => ({
    title,
    properties: Object.fromEntries(names.map((name) => [name, { type: "string" }])),
  });
  const steps = compatibilitySteps(specWith(schema("a")), specWith(schema("b")));
  let pauses = 0;
  while (!steps.next().done) pauses++;
  assert.ok(pauses >= names.length, `${pauses} pauses`);
});

Deno.test("describeChanges() lists what a first deploy adds, event type by event type", () => {
  const lines = describeChanges(undefined, exampleSpec);
  assert(lines.includes("added aggregate_types.order.events.was_placed"));
  assert(lines.includes("added agent_types"));
});

Deno.test("describeChanges() is empty for the same spec with its keys in another order", () => {
  const reversed = Object.fromEntries(Object.entries(copyOfExampleSpec()).reverse());
  assert.deepEqual(describeChanges(exampleSpec, reversed), []);
});

Deno.test("describeChanges() names the part that changed, was added or was removed", () => {
  const after = copyOfExampleSpec();
  (events(after, "order").was_placed as JsonObject).handler = [];
  events(after, "order").was_shipped = { schema: true, handler: [] };
  delete after.singletons;
  assert.deepEqual(describeChanges(exampleSpec, after).sort(), [
    "added aggregate_types.order.events.was_shipped",
    "changed aggregate_types.order.events.was_placed.handler",
    "removed singletons",
  ]);
});

/** A spec whose only schema has a note of a million values. */
function noted(first: JsonValue, type: string): { spec: JsonObject; reads: () => number } {
  const { list, reads } = countedList(0);
  return { spec: specWith({ default: [first, list], type }), reads };
}

Deno.test("a note of a million values is read no further than to the first difference", () => {
  const [before, after] = [noted(1, "object"), noted(2, "object")];
  const change = "changed aggregate_types.order.events.was_placed.schema";
  assert.deepEqual(describeChanges(before.spec, after.spec), [change]);
  assert.deepEqual(checkCompatibility(before.spec, after.spec), []);
  assert.equal(before.reads() + after.reads(), 0);
});

Deno.test("the same note of a million values is compared in steps of a few hundred", () => {
  const [before, after] = [noted(1, "object"), noted(1, "object")];
  for (const steps of [compatibilitySteps, changesSteps]) {
    const running = steps(before.spec, after.spec);
    let known = after.reads();
    for (let step = running.next(); !step.done; step = running.next()) {
      assert.ok(after.reads() - known <= 256, `${after.reads() - known} values in one step`);
      known = after.reads();
    }
  }
  assert.equal(after.reads(), 2_000_000);
});

Deno.test("a redeploy that changes 30,000 event types pauses at each, and tells the first 200", () => {
  const events = (prefix: string) =>
    Object.fromEntries(
      Array.from({ length: 15_000 }, (_, index) => [`${prefix}${index}`, { handler: [] }]),
    );
  const spec = (prefix: string) => ({ aggregate_types: { order: { events: events(prefix) } } });
  const steps = changesSteps(spec("was_"), spec("is_"));
  let count = 0;
  let step = steps.next();
  for (; !step.done; step = steps.next()) count++;
  assert.ok(count >= 30_000, `${count} steps`);
  assert.equal(step.value.length, 201);
  assert.equal(step.value[0], "removed aggregate_types.order.events.was_0");
  assert.equal(step.value[200], "and 29800 more");
  const removed = runAtOnce(compatibilitySteps(spec("was_"), spec("is_")));
  assert.equal(removed.length, limits.violationsMax);
});

Deno.test("a long note beside a change does not keep it from being compared", () => {
  const [before, after] = [200_000, 199_999].map((count) =>
    specWith({ default: Array(count).fill(0) })
  );
  assert.deepEqual(checkCompatibility(before!, after!), []);
});
