/** Guards are total: whatever they compare, they hold or do not, and change nothing. */

import assert from "node:assert/strict";
import fc from "fast-check";
import {
  type Budget,
  BudgetSpent,
  newBudget,
  newTimedBudget,
  PIECE_UNITS,
  spend,
} from "../../../src/domain/budget.ts";
import {
  compileHandler,
  compilePredicate,
  compileTemplate,
} from "../../../src/domain/handler/compile_handler.ts";
import type { StoredEvent } from "../../../src/domain/event.ts";
import { HANDLER_SCOPE } from "../../../src/domain/handler/evaluation.ts";
import {
  type Guard,
  guardHeld,
  guardHolds,
  inPiece,
  openPastStates,
  othersOf,
} from "../../../src/domain/handler/guard.ts";
import { otherName } from "../../../src/domain/handler/path.ts";
import type { JsonObject, JsonValue } from "../../../src/domain/json.ts";
import { event, predicateDefinition, state } from "./random_handler.ts";

function guardOf(require: JsonValue, id: JsonValue = "$.id"): Guard {
  const scope = { state: true, names: [otherName("other")] };
  const predicate = compilePredicate(require, "require", scope);
  const template = compileTemplate(id, "id", HANDLER_SCOPE);
  assert.ok(predicate.ok && template.ok, JSON.stringify([predicate, template]));
  const others = [{ alias: "other", aggregateType: "order", idOf: template.template }];
  return { message: "No", others, looksAtState: true, holds: predicate.predicate };
}

function freeze(value: unknown): void {
  if (typeof value !== "object" || value === null) return;
  Object.freeze(value);
  for (const each of Object.values(value)) freeze(each);
}

Deno.test("guardHolds() is true or false for any predicate, and the same again", () => {
  fc.assert(
    fc.property(predicateDefinition, state, state, event, (require, own, other, event) => {
      const guard = guardOf(require);
      freeze([own, other, event]);
      const judge = () => guardHolds(guard, { state: own, event }, [other], newBudget(1e9));
      const holds = judge();
      assert.equal(typeof holds, "boolean");
      assert.equal(judge(), holds);
    }),
  );
});

Deno.test("guardHolds() reads other states under their aliases", () => {
  const guard = guardOf({ gt: ["$.with.other.stock", "@.wanted"] });
  const [stored] = fc.sample(event, 1);
  const judge = (own: JsonObject, other: JsonObject) =>
    guardHolds(guard, { state: own, event: stored! }, [other], newBudget(PIECE_UNITS));
  assert.equal(judge({ wanted: 1 }, { stock: 2 }), true);
  assert.equal(judge({ wanted: 2 }, { stock: 2 }), false);
  assert.equal(judge({ wanted: 2 }, {}), false);
});

Deno.test("a guard charges what it does, and stops at one time slice however much is left", () => {
  const long = Array.from({ length: 3_000 }, (_, index) => index);
  const inside = { in: [-1, "@.list"] };
  const stored = fc.sample(event, 1)[0]!;
  const budget = newBudget(1e9);
  const guarded = { state: { list: long }, event: stored };
  assert.equal(guardHolds(guardOf(inside), guarded, [], budget), false);
  assert.ok(budget.left < 1e9 - 3_000, "every element was charged");
  const many = guardOf({ or: Array.from({ length: 200 }, () => inside) });
  assert.throws(() => guardHolds(many, guarded, [], budget), BudgetSpent);
  assert.ok(budget.left > 1e9 - 3 * PIECE_UNITS, "no more than a slice was spent");
});

Deno.test("othersOf() gives keys in their canonical form, and nothing for what is no id", () => {
  const stored = { ...fc.sample(event, 1)[0]!, key: "order:global", data: { code: "abcdefghi" } };
  const guarded = { state: { id: 7 }, event: stored };
  const keysOf = (id: JsonValue) =>
    othersOf(guardOf({ exists: "@" }, id), guarded, new Set(), newBudget(PIECE_UNITS))
      ?.map(({ key }) => key);
  assert.deepEqual(keysOf("$.id"), ["order:global"]);
  assert.deepEqual(keysOf("$.data.code"), ["order:ABCDEFGH1"]);
  for (const id of ["@.id", "$.data.missing", "$.data.missing?", { $literal: "x" }]) {
    assert.equal(keysOf(id), undefined, JSON.stringify(id));
  }
});

Deno.test("inPiece() takes from the budget what was spent, also where that throws", () => {
  const budget = newBudget(100);
  inPiece(budget, (piece) => piece.left -= 30);
  assert.equal(budget.left, 70);
  assert.throws(() =>
    inPiece(budget, (piece) => {
      piece.left -= 80;
      throw new BudgetSpent();
    })
  );
  assert.equal(budget.left, -10);
});

Deno.test("inPiece() ends what is late, and has as many units as the budget", () => {
  let nowMs = 0;
  const clock = { monotonicMs: () => nowMs };
  const work = (pauseMs: number) => (piece: Budget) => {
    spend(piece, 5_000);
    nowMs += pauseMs;
    spend(piece, 5_000);
  };
  inPiece(newTimedBudget(clock, 10_000), work(15));
  const isLate = (error: unknown) => error instanceof BudgetSpent && error.ran === "late";
  assert.throws(() => inPiece(newTimedBudget(clock, 10_000), work(25)), isLate);
  inPiece(newTimedBudget(clock, 10_000, 30), work(25));
  for (const units of [0, 1, 2_000, 9_999]) {
    const budget = newTimedBudget(clock, units);
    assert.throws(() => inPiece(budget, work(0)), (error) => !isLate(error), `${units}`);
  }
});

const COUNT = compileHandler({ increment: { target: "n" } }, "handler");

function eventAt(timestamp: number, type = "was_counted"): StoredEvent {
  return {
    key: "order:global",
    type,
    data: {},
    metadata: { actor: { type: "user", id: "global" }, timestamp },
  };
}

Deno.test("openPastStates() has the state of each moment, in whatever order they are asked for", () => {
  const times = fc.array(fc.nat(9), { maxLength: 12 }).map((list) => list.sort((a, b) => a - b));
  fc.assert(fc.property(times, fc.array(fc.tuple(fc.nat(10), fc.boolean())), (times, asked) => {
    assert.ok(COUNT.ok);
    const events = times.map((time) => eventAt(time));
    const past = openPastStates(new Map([["was_counted", COUNT.handler]]), events);
    for (const [seconds, isBefore] of asked) {
      const count = times.filter((time) => isBefore ? time < seconds : time <= seconds).length;
      const { n = 0 } = past.at(seconds, isBefore, newBudget(PIECE_UNITS));
      assert.equal(n, count);
    }
  }));
});

Deno.test("openPastStates() begins again where a budget was spent on the way", () => {
  assert.ok(COUNT.ok);
  const events = Array.from({ length: 100 }, () => eventAt(1));
  const past = openPastStates(new Map([["was_counted", COUNT.handler]]), events);
  assert.throws(() => past.at(1, false, newBudget(20)), BudgetSpent);
  assert.deepEqual(past.at(1, false, newBudget(PIECE_UNITS)), { n: 100 });
});

Deno.test("guardHeld() holds if it did before the second of the event or behind it", () => {
  assert.ok(COUNT.ok);
  const past = openPastStates(
    new Map([["was_counted", COUNT.handler]]),
    [1, 3].map((time) => eventAt(time)),
  );
  const heldAt = (seconds: number, require: JsonValue) => {
    const guarded = { state: { n: 7 }, event: eventAt(seconds) };
    return guardHeld(guardOf(require), guarded, [past], newBudget(PIECE_UNITS));
  };
  for (
    const [seconds, counts] of [[0, [0]], [1, [0, 1]], [2, [1]], [3, [1, 2]], [4, [2]]] as const
  ) {
    const held = [1, 2].filter((n) => heldAt(seconds, { eq: ["$.with.other.n", n] }));
    assert.deepEqual(held, counts.filter((n) => n > 0), `${seconds}`);
    assert.equal(heldAt(seconds, { exists: "$.with.other.n" }), counts.at(-1)! > 0);
  }
  const guarded = { state: { n: 7 }, event: eventAt(1) };
  const own = guardOf({ eq: ["$.with.other.n", 7] });
  assert.equal(guardHeld(own, guarded, [undefined], newBudget(PIECE_UNITS)), true);
});
