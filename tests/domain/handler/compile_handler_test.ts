/** The entry points of the tick language: scopes, limits of a definition, odd numbers. */

import { deepStrictEqual, match, notStrictEqual, ok, strictEqual } from "node:assert/strict";
import type { StoredEvent } from "../../../src/domain/event.ts";
import { newFoldBudget } from "../../../src/domain/handler/budget.ts";
import {
  compileHandler,
  compilePredicate,
  compileTemplate,
  DEFINITION_DEPTH_MAX,
  DEFINITION_NODES_MAX,
} from "../../../src/domain/handler/compile_handler.ts";
import {
  boundNamesIn,
  type Evaluation,
  type Scope,
  slotOf,
  withNames,
} from "../../../src/domain/handler/evaluation.ts";
import type { JsonObject, JsonValue } from "../../../src/domain/json.ts";
import { limits } from "../../../src/domain/limits.ts";

const SAGA: Scope = { state: false, names: ["prev", "steps"] };

function evaluationOf(data: JsonObject, bindings: (JsonValue | undefined)[] = []): Evaluation {
  const metadata = { actor: { type: "user", id: "global" }, timestamp: 1_700_000_000 };
  const event: StoredEvent = { key: "order:x", type: "was_placed", data, metadata };
  return { state: {}, event, bindings, budget: newFoldBudget() };
}

function run(definition: JsonValue, data: JsonObject, state: JsonObject = {}): JsonObject {
  const compiled = compileHandler(definition, "handler");
  ok(compiled.ok, JSON.stringify(compiled));
  return compiled.handler(state, evaluationOf(data).event, newFoldBudget());
}

function rulesOf(compiled: { ok: boolean; violations?: readonly { rule: string }[] }): string[] {
  return (compiled.violations ?? []).map(({ rule }) => rule);
}

Deno.test("compileTemplate() reads the names of its scope, and gives a value of its own", () => {
  const compiled = compileTemplate({ id: "$prev.data.id", all: "$steps" }, "emit.data", SAGA);
  ok(compiled.ok);
  const steps = { reserve: { key: "stock:global" } };
  const value = compiled.template(evaluationOf({}, [{ data: { id: 7 } }, steps]));
  deepStrictEqual(value, { id: 7, all: steps });
  notStrictEqual((value as JsonObject)["all"], steps);
});

Deno.test("compileTemplate() takes a name that is bound to nothing for missing", () => {
  const plain = compileTemplate("$prev.key", "p", SAGA);
  const optional = compileTemplate({ a: "$prev.key?" }, "p", SAGA);
  ok(plain.ok && optional.ok);
  strictEqual(plain.template(evaluationOf({}, [undefined, {}])), null);
  strictEqual(optional.template(evaluationOf({}, [undefined, {}])), undefined);
});

Deno.test("compileTemplate() refuses the state and names that its scope has not", () => {
  const compiled = compileTemplate({ a: "@.x", b: "$context.y" }, "emit.data", SAGA);
  ok(!compiled.ok);
  deepStrictEqual(compiled.violations.map(({ path, rule }) => [path, rule]), [
    ["emit.data.a", "path_root_unknown"],
    ["emit.data.b", "name_unknown"],
  ]);
});

Deno.test("compilePredicate() holds or not; a missing optional path counts as not", () => {
  const compiled = compilePredicate({ gt: ["$.data.total?", 10] }, "condition", SAGA);
  ok(compiled.ok);
  strictEqual(compiled.predicate(evaluationOf({ total: 11 })), true);
  strictEqual(compiled.predicate(evaluationOf({ total: 10 })), false);
  strictEqual(compiled.predicate(evaluationOf({})), false);
});

Deno.test("compilePredicate() reports its faults under the given path", () => {
  const compiled = compilePredicate({ eq: ["$.data.a"] }, "implications[0].condition", SAGA);
  ok(!compiled.ok);
  strictEqual(compiled.violations[0]?.path, "implications[0].condition.eq");
});

Deno.test("compileHandler() accepts 64 levels and refuses more, however deep", () => {
  function nested(levels: number): JsonValue {
    let value: JsonValue = 1;
    for (let level = 0; level < levels; level++) value = [value];
    return value;
  }
  // {"set": {...}} itself takes two levels.
  function definition(levels: number): JsonValue {
    return { set: { target: "a", value: nested(levels - 2) } };
  }
  ok(compileHandler(definition(DEFINITION_DEPTH_MAX), "handler").ok);
  for (const levels of [DEFINITION_DEPTH_MAX + 1, 100_000]) {
    deepStrictEqual(rulesOf(compileHandler(definition(levels), "h")), ["definition_too_deep"]);
  }
});

Deno.test("compileHandler() refuses a definition with too many values", () => {
  const values = Array.from({ length: DEFINITION_NODES_MAX - 4 }, () => 0);
  const fits: JsonValue = { set: { target: "a", value: values } };
  ok(compileHandler(fits, "handler").ok);
  values.push(0);
  deepStrictEqual(rulesOf(compileHandler(fits, "handler")), ["definition_too_large"]);
});

Deno.test("compileHandler() refuses a literal number that JSON cannot hold", () => {
  const definition = { set: { target: "a", value: JSON.parse("[1e999]") } };
  const compiled = compileHandler(definition, "handler");
  ok(!compiled.ok);
  deepStrictEqual(compiled.violations.map(({ path, rule }) => [path, rule]), [
    ["handler.set.value[0]", "number_invalid"],
  ]);
});

Deno.test("a handler writes -0 as 0 and what JSON has no word for as null", () => {
  const data = { a: -0, b: Infinity, c: NaN, d: [-0, NaN] };
  const state = run({ set: { target: "", value: "$.data" } }, data);
  deepStrictEqual(state, { a: 0, b: null, c: null, d: [0, null] });
  deepStrictEqual(run({ set: { target: "a", value: JSON.parse("-0") } }, {}), { a: 0 });
});

Deno.test("a handler never makes -0 by adding", () => {
  deepStrictEqual(run({ increment: { target: "n", by: "$.data.by" } }, { by: -0 }), { n: 0 });
  deepStrictEqual(run({ decrement: { target: "n", by: 0 } }, {}, { n: -0 }), { n: 0 });
});

Deno.test("a handler does not add what is not finite", () => {
  for (const by of [Infinity, -Infinity, NaN]) {
    deepStrictEqual(run({ increment: { target: "n", by: "$.data.by" } }, { by }, { n: 1 }), {
      n: 1,
    });
  }
});

Deno.test("a handler reads the whole key as $.id where it has no colon", () => {
  const compiled = compileHandler({ set: { target: "id", value: "$.id" } }, "handler");
  ok(compiled.ok);
  const event = { ...evaluationOf({}).event, key: "alone" };
  deepStrictEqual(compiled.handler({}, event, newFoldBudget()), { id: "alone" });
});

Deno.test("violations say what to do: a text that starts like a path is sent to $literal", () => {
  for (const text of ["$5.00", "@home", "$.50", "$total", "$.data.", "@", "@.x"]) {
    const compiled = compileTemplate(text, "p", { state: false, names: [] });
    ok(!compiled.ok, text);
    ok(compiled.violations[0]?.hint.includes('{"$literal": "..."}'), text);
  }
});

/** A `let` of 19,000 unknown paths beside two names of 250,000 characters. */
function unknownNames(): JsonValue {
  const names = { ["a".repeat(250_000)]: 1, ["b".repeat(250_000)]: 1 };
  const value = Array.from({ length: 19_000 }, () => "$z");
  return { let: names, then: { set: { target: "x", value } } };
}

Deno.test("compileHandler() keeps one fault more than an answer lists, and each is short", () => {
  const compiled = compileHandler(unknownNames(), "handler");
  ok(!compiled.ok);
  strictEqual(compiled.violations.length, limits.violationsMax + 1);
  const characters = JSON.stringify(compiled.violations).length;
  ok(characters < 100_000, `${characters} characters`);
});

Deno.test("a fault shows ten of the names that are bound, and shortens them", () => {
  const names = Object.fromEntries(Array.from({ length: 11 }, (_, at) => [`n${at}`, at]));
  const inner = { let: { last: 1 }, then: { set: { target: "x", value: "$z" } } };
  const hintOf = (definition: JsonValue) => {
    const compiled = compileHandler(definition, "handler");
    ok(!compiled.ok);
    return compiled.violations[0]!.hint;
  };
  const { n10: _, ...ten } = names;
  match(hintOf({ let: ten, then: inner }), /^Bound here: \$n0, .*\$n9, \.\.\.\. For/);
  match(hintOf({ let: { first: 1 }, then: inner }), /^Bound here: \$first, \$last\. For/);
});

Deno.test("a fault beneath a long key shows the beginning of the key in its path", () => {
  const value = { ["a".repeat(100_000)]: ["$z"], ["é".repeat(100_000)]: "$z" };
  const compiled = compileHandler({ set: { target: "x", value } }, "handler");
  ok(!compiled.ok);
  deepStrictEqual(compiled.violations.map(({ path }) => path), [
    `handler.set.value["${"a".repeat(77)}..."][0]`,
    `handler.set.value["${"é".repeat(77)}..."]`,
  ]);
});

/** How many elements of arrays the work may have looked through, by methods that search. */
function countSearched(work: () => void): number {
  const names = ["some", "includes", "indexOf", "lastIndexOf"] as const;
  const methods = names.map((name) => [name, Array.prototype[name]] as const);
  let searched = 0;
  for (const [name, method] of methods) {
    const value = function (this: unknown[], ...given: unknown[]) {
      searched += this.length;
      return (method as (...given: unknown[]) => unknown).apply(this, given);
    };
    Object.defineProperty(Array.prototype, name, { value, configurable: true, writable: true });
  }
  try {
    work();
  } finally {
    for (const [name, value] of methods) {
      Object.defineProperty(Array.prototype, name, { value, configurable: true, writable: true });
    }
  }
  return searched;
}

Deno.test("compileHandler() takes steps for the names of a let and for the paths to them, not for each pair", () => {
  const names = Array.from({ length: 5_000 }, (_, at) => `n${at}`);
  const value = names.map((name) => `$${name}`);
  const then = { set: { target: "x", value } };
  const definition = { let: Object.fromEntries(names.map((name) => [name, 1])), then };
  const searched = countSearched(() => ok(compileHandler(definition, "handler").ok));
  ok(searched < 100_000, `${searched} elements`);
});

Deno.test("a name in the midst of others reads what it is bound to, and an inner one hides it", () => {
  const definition = {
    let: { a: 1, b: 2 },
    then: {
      let: { a: 3, c: 4 },
      then: { set: { target: "all", value: ["$a", "$b", "$c"] } },
    },
  };
  deepStrictEqual(run(definition, {}), { all: [3, 2, 4] });
});

Deno.test("withNames() does not copy the names around it", () => {
  const site = { path: "p", scope: SAGA, faults: [] };
  const inner = withNames(withNames(site, ["a"]), ["b", "prev"]);
  strictEqual(inner.scope.names, SAGA.names);
  deepStrictEqual([...boundNamesIn(inner.scope)], ["prev", "steps", "a", "b", "prev"]);
  deepStrictEqual(["a", "b", "prev", "steps", "c"].map((name) => slotOf(name, inner.scope)), [
    ...[2, 3, 4, 1, -1],
  ]);
});
