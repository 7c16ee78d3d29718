/**
 * What a spec may say: every rule as a golden case. See docs/reference/specs.md and
 * docs/reference/identifiers.md.
 */

import assert from "node:assert/strict";
import fc from "fast-check";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../src/domain/json.ts";
import { runAtOnce } from "../../../src/domain/fairness/pieces.ts";
import { limits } from "../../../src/domain/limits.ts";
import type { CompiledSpec } from "../../../src/domain/spec/compiled.ts";
import {
  compileSpec,
  compileSpecSteps,
  type SpecCompilation,
} from "../../../src/domain/spec/compile.ts";
import { createFaultList } from "../../../src/domain/spec/fault_list.ts";
import { compileGuards } from "../../../src/domain/spec/guards.ts";
import type { Violation } from "../../../src/domain/refusal.ts";
import { copyOfExampleSpec, exampleSpec } from "../../support/example_spec.ts";

interface InvalidSpec {
  readonly name: string;
  readonly set?: string;
  readonly to?: JsonValue;
  readonly remove?: string;
  readonly replace?: JsonValue;
  readonly rule: string;
  readonly path: string;
  readonly hint?: string;
}

function readGolden<T>(name: string): T {
  return JSON.parse(
    Deno.readTextFileSync(new URL(`../../golden/spec/${name}.json`, import.meta.url)),
  );
}

/** The example spec with one place changed or removed. */
function mutate({ set, to, remove, replace }: InvalidSpec): JsonValue {
  if (replace !== undefined) return replace;
  const spec = copyOfExampleSpec();
  const keys = (set ?? remove!).split(".");
  let holder: JsonObject = spec;
  for (const key of keys.slice(0, -1)) {
    const next = holder[key];
    assert(isJsonObject(next));
    holder = next;
  }
  if (set === undefined) delete holder[keys.at(-1)!];
  else holder[keys.at(-1)!] = to!;
  return spec;
}

function violationsOf(document: unknown): readonly Violation[] {
  const compiled = compileSpec(document);
  return compiled.ok ? [] : compiled.violations;
}

function mustCompile(document: unknown): CompiledSpec {
  const compiled = compileSpec(document);
  assert(compiled.ok, JSON.stringify(compiled));
  return compiled.spec;
}

function assertFault(violations: readonly Violation[], wanted: InvalidSpec, prefix = ""): void {
  const found = violations.find(({ rule, path }) =>
    rule === wanted.rule && path === prefix + wanted.path
  );
  assert(found, JSON.stringify(violations, null, 1));
  assert(found.message !== "" && found.hint !== "");
  if (wanted.hint !== undefined) assert.equal(found.hint, wanted.hint);
}

for (const invalid of readGolden<InvalidSpec[]>("invalid_spec")) {
  Deno.test(`compileSpec() refuses ${invalid.name}`, () => {
    assertFault(violationsOf(mutate(invalid)), invalid);
  });
}

for (const invalid of readGolden<(InvalidSpec & { schema: JsonValue })[]>("invalid_schema")) {
  Deno.test(`compileSpec() refuses, as an event schema, ${invalid.name}`, () => {
    assertFault(
      violationsOf(specWith(invalid.schema)),
      invalid,
      "aggregate_types.a.events.b.schema",
    );
  });
}

function specWith(schema: JsonValue): JsonObject {
  return {
    aggregate_types: { a: { events: { b: { schema, handler: [] } } } },
    agent_types: ["user"],
  };
}

for (const warned of readGolden<(InvalidSpec & { schema: JsonValue })[]>("warned_schema")) {
  Deno.test(`compileSpec() takes, as an event schema, and warns of ${warned.name}`, () => {
    const compiled = compileSpec(specWith(warned.schema));
    assert(compiled.ok, JSON.stringify(compiled));
    assert.equal(compiled.warnings.length, 1, JSON.stringify(compiled.warnings));
    assertFault(compiled.warnings, warned, "aggregate_types.a.events.b.schema");
    const { validateData } = compiled.spec.aggregateTypes.get("a")!.events.get("b")!;
    assert.deepEqual(validateData({ a: "anything" }), [], "it checks nothing");
  });
}

Deno.test("compileSpec() takes annotations of an event schema without a word, and keeps them", () => {
  const notes = {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    $comment: { by: "ann" },
    "x-units": -1_000_000,
    "x-faults": false,
    "x-owner": ["sales"],
    discriminator: { propertyName: "kind" },
    default: {},
  };
  const schema = { ...notes, required: ["a"], properties: { a: { ...notes, type: "string" } } };
  const compiled = compileSpec(specWith(schema));
  assert(compiled.ok, JSON.stringify(compiled));
  assert.deepEqual(compiled.warnings, []);
  assert.deepEqual(compiled.spec.document, specWith(schema));
  const { validateData } = compiled.spec.aggregateTypes.get("a")!.events.get("b")!;
  assert.deepEqual(validateData({ a: "text" }), []);
  assert.deepEqual(validateData({ a: 1 }).map(({ path }) => path), ["data.a"]);
  assert.deepEqual(validateData({}).map(({ path }) => path), ["data.a"]);
});

Deno.test("compileSpec() warns of at most a hundred keywords that say nothing", () => {
  const many = Array.from({ length: 5_000 }, (_, index): [string, JsonValue] => [`k${index}`, 1]);
  const compiled = compileSpec(specWith(Object.fromEntries(many)));
  assert(compiled.ok, JSON.stringify(compiled));
  assert.equal(compiled.warnings.length, 100);
});

Deno.test("compileSpec() accepts the example spec without warnings", () => {
  const compiled = compileSpec(exampleSpec);
  assert(compiled.ok);
  assert.deepEqual(compiled.warnings, []);
  const { spec } = compiled;
  assert.deepEqual([...spec.singletons], ["global", "main"]);
  assert.deepEqual([...spec.agentTypes], ["user", "admin"]);
  assert.deepEqual([...spec.targetTypes], ["customer"]);
  const order = spec.aggregateTypes.get("order")!;
  assert.equal(order.cached, true);
  assert.equal(spec.aggregateTypes.get("inventory")!.cached, false);
  assert.equal(order.events.get("was_noted")!.allowSkipOcc, true);
  assert.equal(order.events.get("was_placed")!.allowSkipOcc, false);
  assert.equal(order.events.get("was_placed")!.hasImplications, false);
});

Deno.test("compileSpec() gives a system event's handler, but no event type to write", () => {
  const order = mustCompile(exampleSpec).aggregateTypes.get("order")!;
  assert(order.handlers.has("_was_tombstoned"));
  assert(!order.events.has("_was_tombstoned"));
});

Deno.test("compileSpec() lets a system event omit its handler", () => {
  const spec = copyOfExampleSpec();
  const types = spec.aggregate_types as { order: { events: JsonObject } };
  types.order.events._was_tombstoned = {};
  assert(!mustCompile(spec).aggregateTypes.get("order")!.handlers.has("_was_tombstoned"));
});

Deno.test("compileSpec() accepts annotations at the root, on aggregate types and on event types", () => {
  const annotations = { title: "T", description: "D", examples: [1] };
  const event = { ...annotations, schema: true, handler: [] };
  const spec = {
    ...annotations,
    $schema: "anything",
    aggregate_types: { a: { ...annotations, events: { b: event } } },
    agent_types: ["user"],
  };
  assert.equal(mustCompile(spec).document, spec);
});

Deno.test("compileSpec() accepts empty implications, sagas, listeners and geo types", () => {
  mustCompile({
    aggregate_types: {
      a: { events: { b: { schema: {}, handler: [], implications: [], geo: {} } } },
    },
    agent_types: ["user"],
    geo_types: {},
    modules: { never_cache: [], sagas: {}, listeners: {} },
  });
});

Deno.test("compileSpec() warns of singletons that break the naming conventions, and keeps them", () => {
  const uuid = "9b2d7e4a-1c3f-4a5b-8c6d-0e1f2a3b4c5d";
  const spec = { ...copyOfExampleSpec(), singletons: ["global", "inventory", uuid, "a-b"] };
  const compiled = compileSpec(spec);
  assert(compiled.ok);
  assert.deepEqual(compiled.warnings.map(({ rule }) => rule), [
    "singleton_global",
    "singleton_like_identifier",
    "singleton_like_identifier",
    "singleton_naming",
  ]);
  assert(compiled.spec.singletons.has("inventory"));
});

Deno.test("compileSpec() reports several faults at once, and at most the limit", () => {
  const several = violationsOf({ version: 1, agent_types: [], extra: 1 });
  assert.deepEqual(
    several.map(({ rule }) => rule).sort(),
    ["empty_list", "missing_key", "unknown_key", "version_reserved"],
  );
  const keys = Array.from({ length: 500 }, (_, index) => [`key_${index}`, 1]);
  assert.equal(violationsOf(Object.fromEntries(keys)).length, limits.violationsMax);
});

Deno.test("compileSpec() hashes the document without regard to the order of keys", () => {
  const reversed = Object.fromEntries(Object.entries(copyOfExampleSpec()).reverse());
  assert.equal(mustCompile(reversed).hash, mustCompile(exampleSpec).hash);
  assert.match(mustCompile(exampleSpec).hash, /^[0-9a-f]{64}$/);
});

Deno.test("compileSpec() hashes annotations and $schema too, but folds without them", () => {
  const before = mustCompile(exampleSpec);
  for (const key of ["title", "description", "examples", "$schema"]) {
    const after = mustCompile({ ...copyOfExampleSpec(), [key]: "changed" });
    assert.notEqual(after.hash, before.hash);
    assert.equal(
      after.aggregateTypes.get("order")!.foldHash,
      before.aggregateTypes.get("order")!.foldHash,
    );
  }
});

Deno.test("compileSpec() changes the fold hash of just the type whose handler changes", () => {
  const spec = copyOfExampleSpec();
  const types = spec.aggregate_types as { order: { events: { was_paid: JsonObject } } };
  types.order.events.was_paid.handler = [];
  const [before, after] = [mustCompile(exampleSpec), mustCompile(spec)];
  const foldHash = (compiled: CompiledSpec, name: string) =>
    compiled.aggregateTypes.get(name)!.foldHash;
  assert.notEqual(foldHash(after, "order"), foldHash(before, "order"));
  assert.equal(foldHash(after, "customer"), foldHash(before, "customer"));
});

Deno.test("compileSpec() counts a handler of an event called __proto__ in the fold hash", () => {
  const specOf = (target: string) =>
    JSON.parse(
      `{"agent_types":["u"],"aggregate_types":{"a":{"events":{"__proto__":` +
        `{"handler":{"set":{"target":"${target}","value":1}}}}}}}`,
    );
  const hashes = ["x", "y"].map((target) =>
    mustCompile(specOf(target)).aggregateTypes.get("a")!.foldHash
  );
  assert.notEqual(hashes[0], hashes[1]);
});

Deno.test("compileSpec() refuses a document that nests too deep, however deep", () => {
  const root: JsonObject = {};
  let inner = root;
  for (let depth = 0; depth < 100_000; depth++) inner = inner.a = {};
  assert.deepEqual(violationsOf(root).map(({ rule }) => rule), ["too_deep"]);
});

Deno.test("compileSpec() never throws, whatever the JSON", () => {
  fc.assert(fc.property(fc.jsonValue(), (document) => {
    compileSpec(document);
  }));
});

/** Every place of a document, as the keys that lead to it. */
function placesOf(value: JsonValue, place: string[] = []): string[][] {
  if (typeof value !== "object" || value === null) return [place];
  const inner = Object.entries(value).flatMap(([key, item]) => placesOf(item, [...place, key]));
  return [place, ...inner];
}

Deno.test("compileSpec() never throws on the example spec with any one place replaced", () => {
  const places = placesOf(exampleSpec).filter((place) => place.length > 0);
  fc.assert(
    fc.property(fc.constantFrom(...places), fc.jsonValue({ maxDepth: 2 }), (place, value) => {
      const spec = copyOfExampleSpec();
      let holder = spec as Record<string, JsonValue>;
      for (const key of place.slice(0, -1)) holder = holder[key] as JsonObject;
      holder[place.at(-1)!] = value as JsonValue;
      compileSpec(spec);
    }),
    { numRuns: 300 },
  );
});

Deno.test("compileSpecSteps() pauses at each step of each saga, and at each listener", () => {
  const event = { schema: true, handler: [] };
  const emit = { aggregate_type: "work", event_type: "was_done", id: "global", data: {} };
  const saga = {
    trigger: { aggregate_type: "work", event_type: "was_begun" },
    steps: Array.from({ length: 20 }, (_, at) => ({ name: `s${at}`, emit })),
  };
  const listener = {
    url: "https://example.com/",
    secret: "a secret of sixteen",
    events: ["work.was_done"],
  };
  const many = (count: number, value: JsonObject) =>
    Object.fromEntries(Array.from({ length: count }, (_, at) => [`x${at}`, value]));
  const steps = compileSpecSteps({
    agent_types: ["user"],
    aggregate_types: { work: { events: { was_begun: event, was_done: event } } },
    modules: { sagas: many(100, saga), listeners: many(50, listener) },
  });
  let pauses = 0;
  let step = steps.next();
  for (; !step.done; step = steps.next()) pauses++;
  assert.ok(step.value.ok, JSON.stringify(step.value));
  assert.ok(pauses >= 100 * 20 + 50, `${pauses} pauses`);
});

function countPauses(document: JsonObject): { pauses: number; compiled: SpecCompilation } {
  const steps = compileSpecSteps(document);
  let pauses = 0;
  let step = steps.next();
  for (; !step.done; step = steps.next()) pauses++;
  return { pauses, compiled: step.value };
}

function manyOf<T>(count: number, value: T): Record<string, T> {
  return Object.fromEntries(Array.from({ length: count }, (_, at) => [`x${at}`, value]));
}

Deno.test("compileSpecSteps() refuses more aggregate types than a deploy may have, but not in a stored spec", () => {
  const max = limits.aggregateTypesMax;
  const specOf = (count: number) => ({
    agent_types: ["user"],
    aggregate_types: manyOf(count, { events: {} }),
  });
  const refused = compileSpec(specOf(max + 1));
  assert.ok(!refused.ok);
  const [fault, ...others] = refused.violations;
  assert.deepEqual([fault!.rule, fault!.path], ["too_many", "aggregate_types"]);
  assert.equal(fault!.message, "A spec has at most 2000 aggregate types; this one has 2001.");
  assert.ok(fault!.hint !== "" && others.length === 0);
  assert.ok(compileSpec(specOf(max)).ok);
  const stored = runAtOnce(compileSpecSteps(specOf(max + 1), "store"));
  assert.ok(stored.ok);
  assert.equal(stored.spec.aggregateTypes.size, max + 1);
});

Deno.test("compileSpecSteps() pauses at each aggregate type and at each name in never_cache", () => {
  const count = limits.aggregateTypesMax;
  const types = manyOf(count, { events: {} });
  const document = { agent_types: ["user"], aggregate_types: types };
  const modules = { never_cache: Object.keys(types) };
  const plain = countPauses(document);
  const uncached = countPauses({ ...document, modules });
  assert.ok(plain.compiled.ok && uncached.compiled.ok);
  // A pause for its depth, one for its compilation, one for its hash.
  assert.ok(plain.pauses >= 3 * count, `${plain.pauses} pauses`);
  assert.ok(uncached.pauses >= plain.pauses + 2 * count, `${uncached.pauses} pauses`);
});

Deno.test("compileSpecSteps() ends at the last fault that it lists of never_cache", () => {
  const types = manyOf(10, { events: {} });
  const never_cache = Object.keys(manyOf(100_000, 1)).map((name) => `unknown_${name}`);
  const document = { agent_types: ["user"], aggregate_types: types, modules: { never_cache } };
  const { pauses, compiled } = countPauses(document);
  assert.ok(!compiled.ok);
  assert.equal(compiled.violations.length, limits.violationsMax);
  // Two for each name, while the list is read and hashed, and hardly any for the faults.
  assert.ok(pauses < 201_000, `${pauses} pauses`);
});

Deno.test("compileGuards() pauses at each guard, and at each aggregate that it looks at", () => {
  const other = { type: "order", id: "$.id" };
  const guard = { require: { exists: "@.a" }, message: "No.", with: manyOf(3, other) };
  const guards = Array.from({ length: limits.guardsMax }, () => guard);
  const terms = { types: new Set(["order"]), singletons: new Set(["global"]) };
  const steps = compileGuards(guards, terms, "guards", createFaultList());
  let pauses = 0;
  let step = steps.next();
  for (; !step.done; step = steps.next()) pauses++;
  assert.equal(step.value.length, limits.guardsMax);
  assert.ok(pauses >= 4 * limits.guardsMax, `${pauses} pauses`);
});

Deno.test("the fault of a guard with an unknown type lists ten types of the spec", () => {
  const other = { type: "nothing_like_it", id: "$.id" };
  const guard = { require: { exists: "$.with.a.b" }, message: "No.", with: { a: other } };
  const event = { schema: true, handler: [], guards: [guard] };
  const types = { ...manyOf(1_000, { events: {} }), order: { events: { was_placed: event } } };
  const { compiled } = countPauses({ agent_types: ["user"], aggregate_types: types });
  assert.ok(!compiled.ok);
  const fault = compiled.violations.find(({ rule }) => rule === "unknown_aggregate_type");
  assert.match(fault!.hint, /^Types here: x0, .*, x9, \.\.\.\.$/);
});

Deno.test("a fault beneath a long name shows the beginning of the name in its path", () => {
  const types = { ["a".repeat(100_000)]: { events: manyOf(50, {}) } };
  const { compiled } = countPauses({ agent_types: ["user"], aggregate_types: types });
  assert.ok(!compiled.ok);
  assert.equal(compiled.violations.length, limits.violationsMax);
  for (const { path } of compiled.violations) assert.ok(path.length < 200, path.slice(0, 200));
});

Deno.test("compileSpecSteps() pauses for each property that a pattern names", () => {
  const specWith = (pattern: string) => ({
    agent_types: ["user"],
    aggregate_types: {
      order: {
        events: { was_placed: { schema: { properties: { a: { pattern } } }, handler: [] } },
      },
    },
  });
  const plain = countPauses(specWith("[a-b]"));
  const naming = countPauses(specWith("[\\p{sc=Buhd}\\p{sc=Tagb}]"));
  assert.ok(plain.compiled.ok && naming.compiled.ok);
  assert.ok(naming.pauses >= plain.pauses + 2 * 17, `${naming.pauses} pauses`);
});

for (const list of ["agent_types", "target_types", "singletons"]) {
  Deno.test(`compileSpecSteps() pauses at each of ${list}, while it is read and while it is checked`, () => {
    const document = { agent_types: ["user"], aggregate_types: { order: { events: {} } } };
    const { pauses, compiled } = countPauses({
      ...document,
      [list]: Object.keys(manyOf(3_000, 1)),
    });
    assert.ok(compiled.ok);
    // The hash of the document pauses at each, too.
    assert.ok(pauses >= 3 * 3_000, `${pauses} pauses`);
  });
}

Deno.test("compileSpecSteps() pauses at each event type that a saga awaits", () => {
  const event = { schema: true, handler: [] };
  const emit = { aggregate_type: "work", event_type: "x0", id: "global", data: {} };
  const sagaWith = (event_types: string[]) => ({
    trigger: { aggregate_type: "work", event_type: "x0" },
    steps: [{ name: "only", emit, await: { aggregate_type: "work", event_types } }],
  });
  const specWith = (event_types: string[]) => ({
    agent_types: ["user"],
    aggregate_types: { work: { events: manyOf(limits.sagaAwaitEventsMax + 1, event) } },
    modules: { sagas: { one: sagaWith(event_types) } },
  });
  const few = countPauses(specWith(["x1"]));
  const max = limits.sagaAwaitEventsMax;
  const many = countPauses(specWith(Object.keys(manyOf(max, 1))));
  assert.ok(few.compiled.ok && many.compiled.ok);
  assert.ok(many.pauses >= few.pauses + 2 * (max - 10), `${many.pauses} pauses, not ${few.pauses}`);
});
