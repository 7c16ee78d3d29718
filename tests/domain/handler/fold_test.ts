/** What a fold refuses, and that it refuses early: hostile handlers and hostile data. */

import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import type { StoredEvent } from "../../../src/domain/event.ts";
import { FOLD_UNITS, newFoldBudget } from "../../../src/domain/handler/budget.ts";
import { type Budget, newBudget, newPieceBudget, spend } from "../../../src/domain/budget.ts";
import { compileHandler } from "../../../src/domain/handler/compile_handler.ts";
import { fold } from "../../../src/domain/handler/fold.ts";
import { measureState } from "../../../src/domain/handler/measure.ts";
import type { JsonObject, JsonValue } from "../../../src/domain/json.ts";
import { limits } from "../../../src/domain/limits.ts";
import type { Outcome } from "../../../src/domain/refusal.ts";

const MANY = 100_000;

function eventOf(data: JsonObject, type = "happened"): StoredEvent {
  const metadata = { actor: { type: "user", id: "global" }, timestamp: 1_700_000_000 };
  return { key: "order:global", type, data, metadata };
}

function* repeated(event: StoredEvent, count: number): Iterable<StoredEvent> {
  for (let index = 0; index < count; index++) yield event;
}

/** An eighth of a fold's budget: enough to be stopped by size, and quick to test. */
const SMALL_BUDGET_BYTES = FOLD_UNITS / 8;

function foldMany(
  definition: JsonValue,
  { count = MANY, data = {}, state = {}, budgetBytes = FOLD_UNITS }: {
    count?: number;
    data?: JsonObject;
    state?: JsonObject;
    budgetBytes?: number;
  },
): Outcome<JsonObject> {
  const compiled = compileHandler(definition, "handler");
  ok(compiled.ok, JSON.stringify(compiled));
  const handlers = new Map([["happened", compiled.handler]]);
  return fold(handlers, state, repeated(eventOf(data), count), newBudget(budgetBytes));
}

function isRefused(outcome: Outcome<JsonObject>): boolean {
  return !outcome.ok && outcome.refusal.kind === "fold_budget_exceeded";
}

Deno.test("fold() skips event types without a handler", () => {
  const compiled = compileHandler({ increment: { target: "n" } }, "handler");
  ok(compiled.ok);
  const events = [eventOf({}, "other"), eventOf({}), eventOf({}, "constructor")];
  const outcome = fold(new Map([["happened", compiled.handler]]), {}, events, newFoldBudget());
  deepStrictEqual(outcome, { ok: true, value: { n: 1 } });
});

Deno.test("fold() says what was spent and what the limit is when it refuses", () => {
  const outcome = foldMany({ set: { target: "a", value: { x: "@", y: "@" } } }, {});
  ok(!outcome.ok && outcome.refusal.kind === "fold_budget_exceeded");
  strictEqual(outcome.refusal.limit, limits.stateBytesMax);
  ok(outcome.refusal.bytes > limits.stateBytesMax);
  ok(outcome.refusal.message.length > 0);
});

const HOSTILE: readonly (readonly [name: string, definition: JsonValue, data?: JsonObject])[] = [
  ["doubles its state", { set: { target: "a", value: { x: "@", y: "@" } } }],
  ["doubles its whole state", { set: { target: "", value: { x: "@", y: "@" } } }],
  ["doubles a list", [
    { append: { target: "a", value: "@.a" } },
    { append: { target: "a", value: "@.a" } },
  ]],
  [
    "doubles its state sixty times for each event",
    Array.from({ length: 60 }, () => ({
      merge: { target: "", value: { x: "@", y: "@" } },
    })),
  ],
  ["nests its state one level deeper with each event", { set: { target: "", value: { x: "@" } } }],
  ["nests a list one level deeper with each event", { set: { target: "a", value: ["@.a"] } }],
  ["nests by merging", { merge: { target: "", value: { x: { $merge: ["@"] } } } }],
  ["nests by let", {
    let: { v: { x: "@" } },
    then: { set: { target: "", value: "$v" } },
  }],
  ["doubles by let, without writing", {
    let: { v: ["@.a", "@.a"] },
    then: { let: { w: ["$v", "$v"] }, then: { set: { target: "a", value: "$w" } } },
  }],
  ["appends one long text again and again", [
    { set: { target: "text", value: "$.data.text" } },
    { append: { target: "texts", value: "@.text" } },
  ], { text: "\u0001".repeat(100_000) }],
  ["looks through a growing list again and again", [
    { append: { target: "a", value: 1 } },
    { filter: { target: "a", where: { exists: "$item" } } },
  ]],
  ["compares a growing list again and again", [
    { increment: { target: "n" } },
    { append_unique: { target: "a", value: { n: "@.n" } } },
  ]],
  ["adds each element to all others", [
    { append: { target: "a", value: 1 } },
    { map: { target: "a", value: "@.a" } },
  ]],
];

for (const [name, definition, data] of HOSTILE) {
  Deno.test(`fold() refuses in time a handler that ${name}`, () => {
    const startedMs = performance.now();
    ok(isRefused(foldMany(definition, { data: data ?? {}, budgetBytes: SMALL_BUDGET_BYTES })));
    // The worst takes a second on a slow machine; unbounded work would take hours.
    ok(performance.now() - startedMs < 20_000);
  });
}

Deno.test("fold() takes a state of 1,000 levels and refuses one more", () => {
  const definition = { set: { target: "", value: { x: "@" } } };
  // The empty state is one level; each event adds one.
  const deepest = foldMany(definition, { count: limits.stateDepthMax - 1 });
  ok(deepest.ok);
  strictEqual(measureState(deepest.value).depth, limits.stateDepthMax);
  ok(isRefused(foldMany(definition, { count: limits.stateDepthMax })));
});

Deno.test("fold() refuses an event that nests too deep to be kept, and only then", () => {
  const data = JSON.parse(`{"d":${"[".repeat(MANY)}${"]".repeat(MANY)}}`) as JsonObject;
  ok(isRefused(foldMany({ set: { target: "d", value: "$.data.d" } }, { count: 1, data })));
  const same: JsonValue = {
    if: { eq: ["$.data.d", "$.data.d"] },
    then: { set: { target: "same", value: true } },
  };
  deepStrictEqual(foldMany(same, { count: 1, data }), { ok: true, value: { same: true } });
  const twice = { ...data, e: JSON.parse(JSON.stringify({ l: 1 })) as JsonObject };
  const other: JsonValue = {
    if: { eq: ["$.data.d", "$.data.e"] },
    then: [],
    else: { set: { target: "same", value: false } },
  };
  deepStrictEqual(foldMany(other, { count: 1, data: twice }), {
    ok: true,
    value: { same: false },
  });
});

Deno.test("fold() compares values nested 100,000 levels deep without overflowing the stack", () => {
  const nested = `${"[".repeat(MANY)}${"]".repeat(MANY)}`;
  const data = JSON.parse(`{"d":${nested},"e":${nested}}`) as JsonObject;
  const definition = {
    if: { eq: ["$.data.d", "$.data.e"] },
    then: { set: { target: "same", value: true } },
  };
  ok(foldMany(definition, { count: 1, data }).ok);
});

Deno.test("fold() takes as many events as there are when the state stays small", () => {
  const definition: JsonValue = [
    { set: { target: "last", value: "$.data" } },
    { increment: { target: "n" } },
    { set: { target: "copy", value: "@.last" } },
  ];
  const outcome = foldMany(definition, { data: { text: "x".repeat(100) } });
  ok(outcome.ok);
  strictEqual(outcome.value["n"], MANY);
});

Deno.test("fold() takes a list of a million numbers, well within a state", () => {
  const outcome = foldMany({ append: { target: "a", value: "$.data.n" } }, {
    count: 1_000_000,
    data: { n: 12 },
  });
  ok(outcome.ok);
  strictEqual((outcome.value["a"] as JsonValue[]).length, 1_000_000);
});

Deno.test("fold() takes its charges from the budget, so that several folds can share one", () => {
  const compiled = compileHandler({ append: { target: "a", value: "$.data" } }, "handler");
  ok(compiled.ok);
  const handlers = new Map([["happened", compiled.handler]]);
  const budget = newFoldBudget();
  ok(fold(handlers, {}, [eventOf({ text: "x".repeat(1_000) })], budget).ok);
  ok(budget.left <= FOLD_UNITS - 1_000);
  ok(isRefused(fold(handlers, {}, [eventOf({ text: "x" })], newBudget(10))));
});

Deno.test("a fold whose time is up within an event is refused there", () => {
  const clock = { nowMs: 0, monotonicMs: () => clock.nowMs += 15 };
  let steps = 0;
  const handler = (state: JsonObject, _event: StoredEvent, budget: Budget) => {
    for (; steps < 10_000; steps++) spend(budget, 40);
    return state;
  };
  const events = [{ type: "a" }] as unknown as StoredEvent[];
  const outcome = fold(new Map([["a", handler]]), {}, events, newPieceBudget(clock));
  strictEqual(outcome.ok, false);
  ok(steps < 1_000);
});

Deno.test("a fold whose time is up is refused before its next event", () => {
  const clock = { nowMs: 0, monotonicMs: () => clock.nowMs };
  let folded = 0;
  const handler = (state: JsonObject) => {
    folded++;
    clock.nowMs += 50;
    return state;
  };
  const events = [{ type: "a" }, { type: "b" }, { type: "a" }] as unknown as StoredEvent[];
  const budget = newPieceBudget(clock);
  const outcome = fold(new Map([["a", handler]]), {}, events, budget);
  strictEqual(outcome.ok, false);
  strictEqual(folded, 1);
  ok(budget.left < 0);
});
