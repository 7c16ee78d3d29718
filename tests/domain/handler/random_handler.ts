/**
 * Random JSON, events and valid tick handlers for property tests; few keys, so that they meet.
 */

import fc from "fast-check";
import type { StoredEvent } from "../../../src/domain/event.ts";
import type { JsonObject, JsonValue } from "../../../src/domain/json.ts";

/** Keys that meet often, and keys that must never reach a prototype. */
const KEYS = ["a", "b", "c", "id", "0", "1", "__proto__", "constructor", "prototype", "toString"];
const key = fc.constantFrom(...KEYS);

const scalar: fc.Arbitrary<JsonValue> = fc.oneof(
  fc.constantFrom<JsonValue>(null, true, false, 0, 1, -1, 0.1, 1e308, -1e308, "", "a", "id", "1"),
  fc.constantFrom<JsonValue>(-0, Infinity, NaN),
  fc.string({ unit: "binary", maxLength: 4 }),
);

/** Any JSON and, as an event in memory might hold them, -0, Infinity and NaN. */
export const json: fc.Arbitrary<JsonValue> = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    scalar,
    fc.array(tie("value"), { maxLength: 4 }),
    objectOf(tie("value")),
  ),
})).value;

/** Objects as JSON.parse makes them: `__proto__` is an own property. */
function objectOf(value: fc.Arbitrary<JsonValue>): fc.Arbitrary<JsonObject> {
  return fc.array(fc.tuple(key, value), { maxLength: 4 }).map((entries) => {
    const object: JsonObject = {};
    for (const [name, each] of entries) {
      Object.defineProperty(object, name, {
        value: each,
        writable: true,
        enumerable: true,
        configurable: true,
      });
    }
    return object;
  });
}

export const jsonObject: fc.Arbitrary<JsonObject> = objectOf(json);

/** A state as it is stored: what JSON text can hold. */
export const state: fc.Arbitrary<JsonObject> = jsonObject.map((object) =>
  JSON.parse(JSON.stringify(object)) as JsonObject
);

export const event: fc.Arbitrary<StoredEvent> = fc.record({
  key: fc.constantFrom("order:a", "order:__proto__", "order"),
  type: fc.constantFrom("first", "second", "without_handler"),
  data: jsonObject,
  metadata: fc.constant({ actor: { type: "user", id: "global" }, timestamp: 1_700_000_000 }),
});

const step = fc.oneof(
  key.map((name) => `.${name}`),
  key.map((name) => `[${JSON.stringify(name)}]`),
  fc.constantFrom("[0]", "[1]", "[*]"),
);
const steps = fc.array(step, { maxLength: 3 }).map((parts) => parts.join(""));

function pathAmong(names: readonly string[]): fc.Arbitrary<string> {
  const roots = ["$.data", "$.data", "$.metadata", "$.key", "$.id", "$.type", "@", "@"];
  const root = fc.constantFrom(...roots, ...names.map((name) => `$${name}`));
  const end = fc.constantFrom("", "", "", "?");
  return fc.tuple(root, steps, end).map((parts) => parts.join(""));
}

const fieldPath = fc.array(
  fc.oneof(key.map((name) => `.${name}`), fc.constantFrom("[0]", "[1]")),
  { minLength: 1, maxLength: 3 },
).map((parts) => parts.join("").replace(/^\./, ""));
const target = fc.oneof({ weight: 6, arbitrary: fieldPath }, fc.constant(""));

function templateAmong(names: readonly string[]): fc.Arbitrary<JsonValue> {
  const path = pathAmong(names);
  return fc.letrec<{ value: JsonValue }>((tie) => ({
    value: fc.oneof(
      { depthSize: "small" },
      path,
      json.map((value) => ({ $literal: JSON.parse(JSON.stringify(value)) })),
      path.map((text) => ({ $: text })),
      fc.array(tie("value"), { minLength: 1, maxLength: 3 }).map((parts) => ({ $merge: parts })),
      fc.array(tie("value"), { maxLength: 3 }),
      objectOf(tie("value")),
    ),
  })).value;
}

function predicateAmong(names: readonly string[]): fc.Arbitrary<JsonValue> {
  const template = templateAmong(names);
  const comparison = fc.tuple(
    fc.constantFrom("eq", "equals", "ne", "not_equals", "gt", "gte", "lt", "lte", "in", "not_in"),
    template,
    template,
  ).map(([name, left, right]): JsonValue => ({ [name]: [left, right] }));
  return fc.letrec<{ value: JsonValue }>((tie) => ({
    value: fc.oneof(
      { depthSize: "small" },
      comparison,
      pathAmong(names).map((path) => ({ exists: path })),
      fc.tuple(fc.constantFrom("and", "or"), fc.array(tie("value"), { minLength: 1, maxLength: 2 }))
        .map(([name, parts]): JsonValue => ({ [name]: parts })),
      tie("value").map((inner) => ({ not: inner })),
    ),
  })).value;
}

function whereAmong(names: readonly string[]): fc.Arbitrary<JsonValue> {
  const all = [...names, "item"];
  const fields = fc.tuple(fieldPath, templateAmong(all)).map(([name, value]) => {
    return Object.defineProperty({}, name, { value, enumerable: true }) as JsonObject;
  });
  return fc.oneof(predicateAmong(all), fields);
}

function operationAmong(names: readonly string[], depth: number): fc.Arbitrary<JsonValue> {
  const value = templateAmong(names);
  const item = templateAmong([...names, "item"]);
  const by = fc.oneof(fc.constantFrom<JsonValue>(1, -2, 0.1, 1e308, "1"), value);
  const keyed = fc.oneof(key, pathAmong(names));
  const where = whereAmong(names);
  const flat = [
    fc.record({ set: fc.record({ target, value }) }),
    fc.record({ merge: fc.record({ target, value }) }),
    fc.record({ append: fc.record({ target, value }) }),
    fc.record({ append_unique: fc.record({ target, value }) }),
    fc.record({ append_unique: fc.record({ target, value, key: fieldPath }) }),
    fc.record({ remove: fc.record({ target: fieldPath }) }),
    fc.record({ remove: fc.record({ target, where }) }),
    fc.record({ increment: fc.record({ target, by }) }),
    fc.record({ decrement: fc.record({ target, by }) }),
    fc.record({ filter: fc.record({ target, where }) }),
    fc.record({ map: fc.record({ target, value: item }) }),
    fc.record({ update_where: fc.record({ target, where, value: item }) }),
    fc.record({ upsert: fc.record({ target, key: fieldPath, value }) }),
    fc.record({ set_at: fc.record({ target, key: keyed, value }) }),
    fc.record({ merge_at: fc.record({ target, key: keyed, value }) }),
    fc.record({ remove_at: fc.record({ target, key: keyed }) }),
    fc.record({ increment_at: fc.record({ target, key: keyed, by }) }),
  ] as fc.Arbitrary<JsonValue>[];
  if (depth === 0) return fc.oneof(...flat);
  const inner = fc.array(operationAmong(names, depth - 1), { maxLength: 2 });
  const named = fc.array(operationAmong([...names, "v"], depth - 1), { maxLength: 2 });
  return fc.oneof(
    ...flat,
    fc.record({ if: predicateAmong(names), then: inner, else: inner }) as fc.Arbitrary<JsonValue>,
    fc.record({ let: fc.record({ v: value }), then: named }) as fc.Arbitrary<JsonValue>,
  );
}

/** A valid handler: a list of operations, nested up to twice. */
export const handlerDefinition: fc.Arbitrary<JsonValue> = fc.array(operationAmong([], 2), {
  maxLength: 4,
});

/** A valid predicate over the event and the state. */
export const predicateDefinition: fc.Arbitrary<JsonValue> = predicateAmong([]);
