/**
 * Operations are charged for what they cost. For each kind of work a small handler asks for
 * much of it. A state a hundred times as large must be charged about a hundred times as much.
 */

import { ok } from "node:assert/strict";
import { newFoldBudget } from "../../../src/domain/handler/budget.ts";
import { compileHandler } from "../../../src/domain/handler/compile_handler.ts";
import { fold } from "../../../src/domain/handler/fold.ts";
import type { StoredEvent } from "../../../src/domain/event.ts";
import type { JsonObject, JsonValue } from "../../../src/domain/json.ts";

interface Charge {
  readonly what: string;
  readonly handler: JsonValue;
  /** A state with this many keys, elements or characters. */
  readonly state: (size: number) => JsonObject;
  readonly data?: (size: number) => JsonObject;
  /** The least number of units for each of them. */
  readonly unitsEach: number;
}

const SIZE = 50_000;

function keysOf(size: number, prefix = "k"): JsonObject {
  return Object.fromEntries(Array.from({ length: size }, (_, n) => [`${prefix}${n}`, n]));
}

function numbers(size: number): JsonValue[] {
  return Array.from({ length: size }, (_, n) => n);
}

function when(predicate: JsonValue): JsonValue {
  return { if: predicate, then: { set: { target: "seen", value: true } } };
}

const CHARGES: readonly Charge[] = [
  {
    what: "two objects with the same keys",
    handler: when({ eq: ["@.a", "@.b"] }),
    state: (size) => ({ a: keysOf(size), b: keysOf(size) }),
    unitsEach: 24,
  },
  {
    what: "an object that has all keys of a small one, and more",
    handler: when({ eq: ["@.big", { k0: 0 }] }),
    state: (size) => ({ big: keysOf(size) }),
    unitsEach: 24,
  },
  {
    what: "texts of the same length",
    handler: when({ ne: ["@.a", "@.b"] }),
    state: (size) => ({ a: "x".repeat(size), b: "x".repeat(size) }),
    unitsEach: 1 / 8,
  },
  {
    what: "the order of texts",
    handler: when({ lt: ["@.a", "@.b"] }),
    state: (size) => ({ a: "x".repeat(size), b: `${"x".repeat(size)}y` }),
    unitsEach: 1 / 8,
  },
  {
    what: "a text that is looked up in a list of the spec",
    handler: when({ in: ["$.data.text", ["a", "b"]] }),
    state: () => ({}),
    data: (size) => ({ text: "x".repeat(size) }),
    unitsEach: 1,
  },
  {
    what: "a long key",
    handler: { increment_at: { target: "counts", key: "$.data.text" } },
    state: () => ({}),
    data: (size) => ({ text: "x".repeat(size) }),
    unitsEach: 1,
  },
  {
    what: "elements that move when the first is removed",
    handler: { remove: { target: "list[0]" } },
    state: (size) => ({ list: numbers(size) }),
    unitsEach: 1 / 2,
  },
  {
    what: "elements that are filtered",
    handler: { filter: { target: "list", where: { gte: ["$item", 0] } } },
    state: (size) => ({ list: numbers(size) }),
    unitsEach: 8,
  },
  {
    what: "elements that are passed on by a further [*]",
    handler: when({ eq: ["@.list[*][*][*]", 1] }),
    state: (size) => ({ list: [[numbers(size)]] }),
    unitsEach: 24,
  },
  {
    what: "fields that are merged",
    handler: { merge: { target: "a", value: "@.b" } },
    state: (size) => ({ a: { x: 1 }, b: keysOf(size) }),
    unitsEach: 40,
  },
  {
    what: "elements that an appended one is compared with",
    handler: { append_unique: { target: "list", value: -1 } },
    state: (size) => ({ list: numbers(size) }),
    unitsEach: 8,
  },
  {
    what: "elements that an upserted one is compared with",
    handler: { upsert: { target: "list", key: "id", value: { id: -1 } } },
    state: (size) => ({ list: numbers(size).map((id) => ({ id })) }),
    unitsEach: 16,
  },
];

function unitsOf({ handler, state, data }: Charge, size: number): number {
  const compiled = compileHandler(handler, "handler");
  ok(compiled.ok);
  const event = { key: "thing:1", type: "happened", data: data?.(size) ?? {}, metadata: {} };
  const budget = newFoldBudget();
  const events = [event as unknown as StoredEvent];
  ok(fold(new Map([["happened", compiled.handler]]), state(size), events, budget).ok);
  return newFoldBudget().left - budget.left;
}

for (const charge of CHARGES) {
  Deno.test(`charged: ${charge.what}`, () => {
    const large = unitsOf(charge, SIZE);
    ok(large >= charge.unitsEach * (SIZE - 1), `${large} units`);
    ok(large < 200 * charge.unitsEach * SIZE, `${large} units`);
    ok(unitsOf(charge, SIZE / 100) <= large / 20, "a small state costs little");
  });
}

Deno.test("an object with keys that a small one has not is not looked through", () => {
  for (const pair of [["@.big", { zz: 1 }], [{ zz: 1 }, "@.big"], ["@.big", "$.data"]]) {
    const charge = { what: "", state: (size: number) => ({ big: keysOf(size) }), unitsEach: 0 };
    const handler = when({ eq: pair });
    const data = () => ({ zz: 1 });
    ok(unitsOf({ ...charge, handler, data }, SIZE) < 500, JSON.stringify(pair));
  }
});

Deno.test("predicates and the steps of paths are charged, whatever they find", () => {
  const charge = { what: "", state: () => ({}), unitsEach: 0 };
  const all = (each: JsonValue) => when({ and: Array.from({ length: 1_000 }, () => each) });
  ok(unitsOf({ ...charge, handler: all({ eq: [1, 1] }) }, 1) >= 8_000);
  ok(unitsOf({ ...charge, handler: all({ not: { exists: "@.a" } }) }, 1) >= 16_000);
  const deep = all({ not: { eq: [`@${".a".repeat(60)}`, 1] } });
  ok(unitsOf({ ...charge, handler: deep }, 1) >= 480_000);
});
