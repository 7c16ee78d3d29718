/** Guards are total: whatever they compare, they hold or do not, and change nothing. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { BudgetSpent, newBudget, PIECE_UNITS } from "../../../src/domain/budget.ts";
import { compilePredicate, compileTemplate } from "../../../src/domain/handler/compile_handler.ts";
import { HANDLER_SCOPE } from "../../../src/domain/handler/evaluation.ts";
import { type Guard, guardHolds, inPiece, othersOf } from "../../../src/domain/handler/guard.ts";
import { otherName } from "../../../src/domain/handler/path.ts";
import type { JsonObject, JsonValue } from "../../../src/domain/json.ts";
import { event, predicateDefinition, state } from "./random_handler.ts";

function guardOf(require: JsonValue, id: JsonValue = "$.id"): Guard {
  const scope = { state: true, names: [otherName("other")] };
  const predicate = compilePredicate(require, "require", scope);
  const template = compileTemplate(id, "id", HANDLER_SCOPE);
  assert.ok(predicate.ok && template.ok, JSON.stringify([predicate, template]));
  const others = [{ alias: "other", aggregateType: "order", idOf: template.template }];
  return { message: "No", others, holds: predicate.predicate };
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
